/** Try a row: its features, its way, what moves it, and what would change the answer. */

import { scaleLinear } from "d3-scale";
import { append, button, el, fill, svg, table } from "./dom";
import { flips, type Flip, type Step } from "./answers";
import { count, NotANumber, percent, shown, typed } from "./numbers";
import type { State } from "./state";
import type { Column } from "./types";
import { answerWords, branchName, leafWords, question, shortQuestion } from "./words";

const WIDTH = 330;
/** Of waterfalls and lists: so many terms are shown one by one. */
const MOST_TERMS = 8;
const MOST_FLIPS = 8;

export class TryRow {
  readonly element = el("section", { class: "panel-body", "aria-label": "Try a row" });
  private readonly answer = el("div", { class: "said", role: "status" });
  private readonly way = el("div", { class: "way" });
  private readonly changes = el("div", { class: "changes" });
  private readonly pick = el("input", { type: "text", inputmode: "numeric", class: "number",
    "aria-label": "Number of an embedded row" });
  private readonly controls: (() => void)[] = [];
  /** The embedded row that was taken last. */
  private last = -1;

  constructor(private readonly state: State, private readonly say: (words: string) => void) {
    const { page } = state;
    const used = page.columns.flatMap((column, place) => (column.used ? [[column, place] as const] : []));
    fill(this.element, el("h2", {}, "Try a row"), this.picking(), this.answer,
      el("details", { open: used.length <= 20 }, el("summary", {}, `Features that are used: ${used.length}`),
        el("div", { class: "features" }, ...used.map(([column, place]) => this.control(column, place)))),
      this.changes, el("h3", {}, "Its way"), this.way);
    state.on(["row", "tree", "edits"], () => { this.render(); }, this.element);
    this.render();
  }

  /** Begin with a row, if none is tried yet. */
  begin(): void {
    if (this.state.row) return;
    if (this.state.rows) this.take(0);
    else this.state.tryRow(this.middle(), "a row of your own");
  }

  private middle(): Float64Array {
    return Float64Array.from(this.state.page.columns, ({ middle, used }) => (
      used ? middle ?? 0 : NaN));
  }

  private picking(): HTMLElement {
    const { rows } = this.state;
    const parts: HTMLElement[] = [];
    if (rows) {
      parts.push(el("form", { class: "line", submit: (event) => { event.preventDefault(); this.picked(); } },
        el("label", {}, `Embedded row (0 to ${count(rows.n - 1)}) `, this.pick), " ",
        el("button", { type: "submit" }, "Take"), " ",
        button("Another", () => { this.take((this.last + 1) % rows.n); }), " ",
        this.state.page.task === "classification"
          ? button("A wrong one", () => { this.wrong(); }, { hidden: !rows.y,
            title: "The next embedded row whose answer is wrong" })
          : button("One far off", () => { this.farOff(); }, { hidden: !rows.y,
            title: "The embedded rows whose numbers are furthest from the answer, one after another" })));
    }
    parts.push(el("p", { class: "line" },
      button("A middle row", () => { this.state.tryRow(this.middle(), "a middle row"); }), " ",
      button("None", () => { this.state.tryRow(null); })));
    return el("div", {}, ...parts);
  }

  private picked(): void {
    try {
      const wanted = typed(this.pick.value);
      if (!Number.isInteger(wanted) || wanted < 0 || wanted >= this.state.rows!.n) {
        throw new NotANumber(`There are rows 0 to ${this.state.rows!.n - 1}.`);
      }
      this.take(wanted);
    } catch (error) {
      if (!(error instanceof NotANumber)) throw error;
      this.say(error.message);
    }
  }

  private truthOf(row: number): number[] | null {
    const { rows, page } = this.state;
    if (!rows?.y) return null;
    const n = page.task === "classification" ? 1 : page.names.length;
    return Array.from(rows.y.slice(row * n, row * n + n));
  }

  private take(row: number): void {
    const rows = this.state.rows!;
    this.last = row;
    this.pick.value = String(row);
    const set = this.state.page.sets[rows.set[row]!]!.name;
    this.state.tryRow(rows.at(row), `row ${count(rows.number[row]!)} of the ${set} rows`, this.truthOf(row));
  }

  private wrong(): void {
    const rows = this.state.rows!;
    const order = Array.from({ length: rows.n }, (_, at) => (this.last + 1 + at) % rows.n);
    const found = order.find((row) => this.state.answers.of(rows.at(row)).chosen !== this.truthOf(row)![0]);
    if (found === undefined) this.say("All embedded rows get the right answer.");
    else this.take(found);
  }

  private farOff(): void {
    const rows = this.state.rows!;
    const off = Array.from({ length: rows.n }, (_, row) => {
      const [truth] = this.truthOf(row)!;
      return Math.abs((this.state.answers.of(rows.at(row)).numbers[0] ?? truth!) - truth!);
    });
    const order = off.map((_, row) => row).sort((a, b) => off[b]! - off[a]!);
    this.take(order[(order.indexOf(this.last) + 1) % rows.n]!);
  }

  // --- features ----------------------------------------------------------------------------------

  private set(place: number, value: number): void {
    const z = Float64Array.from(this.state.row ?? this.middle());
    z[place] = value;
    this.state.tryRow(z, "a row of your own");
  }

  private control(column: Column, place: number): HTMLElement {
    const missing = column.mayMiss || this.state.page.takesMissing;
    return column.levels ? this.menu(column, place, missing) : this.slider(column, place, missing);
  }

  private menu(column: Column, place: number, missing: boolean): HTMLElement {
    const choice = el("select", { "aria-label": column.name },
      ...column.levels!.map((level, code) => el("option", { value: code }, level)),
      column.others ? null : el("option", { value: -1 }, "(another level)"),
      missing ? el("option", { value: "" }, "(missing)") : null);
    choice.addEventListener("change", () => {
      this.set(place, choice.value === "" ? NaN : Number(choice.value));
    });
    this.controls.push(() => {
      const value = this.state.row?.[place] ?? NaN;
      choice.value = Number.isNaN(value) ? "" : String(value);
    });
    return el("div", { class: "feature" }, el("span", { class: "name", title: column.name }, column.name), choice);
  }

  private slider(column: Column, place: number, missing: boolean): HTMLElement {
    const { low, high, whole } = column;
    const given = low !== null && high !== null && high > low;
    const input = el("input", { type: "text", inputmode: "decimal", class: "number", "aria-label": column.name });
    const range = given ? el("input", { type: "range", min: low, max: high,
      step: whole ? 1 : "any", "aria-label": `${column.name}, from ${shown(low)} to ${shown(high)}` }) : null;
    range?.addEventListener("input", () => { this.set(place, Number(range.value)); });
    input.addEventListener("change", () => {
      if (input.value.trim() === "" && missing) { this.set(place, NaN); return; }
      try {
        this.set(place, typed(input.value));
        input.removeAttribute("aria-invalid");
      } catch (error) {
        if (!(error instanceof NotANumber)) throw error;
        input.setAttribute("aria-invalid", "true");
        this.say(error.message);
      }
    });
    this.controls.push(() => {
      const value = this.state.row?.[place] ?? NaN;
      if (document.activeElement !== input) input.value = Number.isNaN(value) ? "" : String(value);
      if (range && !Number.isNaN(value)) range.value = String(value);
      range?.classList.toggle("missing", Number.isNaN(value));
    });
    input.placeholder = missing ? "missing" : "";
    return el("div", { class: "feature" }, el("span", { class: "name", title: column.name }, column.name),
      range, input);
  }

  // --- what is said of it ------------------------------------------------------------------------

  private render(): void {
    const { state } = this;
    for (const control of this.controls) control();
    if (!state.row) {
      fill(this.answer, "Pick a row, or move a slider.");
      fill(this.way);
      fill(this.changes);
      return;
    }
    const said = state.answers.of(state.row);
    const { steps, end, trouble } = state.answers.way(state.tree, state.row);
    fill(this.answer, el("p", {}, `Of ${state.rowName} ${this.who()} says: `,
      el("b", {}, said.trouble ?? answerWords(state.page, said.numbers, said.chosen)), this.truthWords(said.chosen)));
    if (state.page.task === "classification" && said.numbers.length > 2) {
      append(this.answer, this.shares(said.numbers));
    }
    fill(this.way, ...steps.map((step) => this.step(step)), trouble === null
      ? el("p", {}, "It ends in ", button(`leaf ${end}`, () => { state.chooseNode(end); }, { class: "link" }),
        `, which says ${leafWords(state.page, state.nodes[end]!)}.`)
      : el("p", {}, trouble));
    this.renderChanges();
  }

  /** Whose answer it is: of many trees only some may be here. */
  private who(): string {
    const { page, tree } = this.state;
    return page.nTrees === page.trees.length ? "the model" : `tree ${page.trees[tree]!.number} alone`;
  }

  private truthWords(chosen: number): string {
    const { truth, page } = this.state;
    if (!truth) return "";
    if (page.task !== "classification") return `; it is ${truth.map((value) => shown(value, 5)).join(", ")}`;
    return truth[0] === chosen ? ", which is right" : `; it is ${page.names[truth[0]!]}`;
  }

  private shares(numbers: number[]): HTMLElement | null {
    const { page } = this.state;
    const some = numbers.map((share, place) => [share, place] as const).filter(([share]) => share > 0)
      .sort((a, b) => b[0] - a[0]).slice(0, 5);
    if (some.length < 2) return null;
    return el("p", { class: "note" }, some.map(([share, place]) => `${page.names[place]} ${percent(share)}`).join(", "));
  }

  private step(step: Step): HTMLElement {
    const { state } = this;
    const node = state.nodes[step.node]!;
    const head = el("p", {}, button(shortQuestion(state.page, node), () => { state.chooseNode(step.node); },
      { class: "link", title: question(state.page, node) }), " \u2192 ", el("b", {}, branchName(state.page, node, step.branch)));
    const made = el("div", { class: "step" }, head);
    if (step.aside) append(made, el("p", { class: "note" }, "It goes there because it misses a value."));
    else if (node.kind === "hyperplane" && Number.isFinite(step.value)) {
      append(made, this.distance(step), this.waterfall(step));
    }
    return made;
  }

  /** How far the split is from changing, in words. */
  private distance(step: Step): HTMLElement {
    const { state } = this;
    const node = state.nodes[step.node]!;
    const [plane] = node.planes;
    const off = (step.value - plane!.threshold) / node.divisor;
    const side = off > 0 ? "above" : "below";
    const changes = plane!.column.flatMap((column, k) => {
      const coef = plane!.coef[k]!;
      if (k in plane!.tables || coef === 0) return [];
      const by = (plane!.threshold - step.value) / coef;
      return Number.isFinite(by) ? [[column, by] as const] : [];
    });
    const lead = changes.length > 1 ? changes.reduce((best, one) => (
      this.relative(one) < this.relative(best) ? one : best)) : null;
    return el("p", { class: "note" }, `${shown(Math.abs(off), 3)} ${side} the threshold`
      + (lead ? `; ${state.page.columns[lead[0]]!.name} ${lead[1] > 0 ? "+" : ""}${shown(lead[1], 3)} alone would change it`
        : ""), ".");
  }

  /** A change in parts of the range that a feature has. */
  private relative([column, by]: readonly [number, number]): number {
    const { low, high } = this.state.page.columns[column]!;
    return Math.abs(by) / (low !== null && high !== null && high > low ? high - low : 1);
  }

  /** What each term adds: from the mean of the node's rows, or from 0, to the value of this row. */
  private waterfall(step: Step): HTMLElement {
    const { state } = this;
    const node = state.nodes[step.node]!;
    const plane = node.planes[0]!;
    const unit = node.divisor;
    const was = state.page.trees[state.tree]!.nodes[step.node]!;
    const means = !node.edited && !node.moved ? was.means : null;
    const start = means ? plane.coef.reduce((sum, coef, k) => sum + coef * means[k]!, 0) / unit : 0;
    const moves = step.terms.map(({ column, added }, k) => ({
      name: this.termName(column), by: (added - (means ? plane.coef[k]! * means[k]! : 0)) / unit }));
    moves.sort((a, b) => Math.abs(b.by) - Math.abs(a.by));
    const rest = moves.splice(moves.length <= MOST_TERMS + 1 ? moves.length : MOST_TERMS);
    if (rest.length) moves.push({ name: `${rest.length} others`, by: rest.reduce((sum, { by }) => sum + by, 0) });
    const cut = plane.threshold / unit;
    const ends = [start, cut, ...moves.map((_, k) => moves.slice(0, k + 1).reduce((sum, { by }) => sum + by, start))];
    const x = scaleLinear().domain([Math.min(...ends), Math.max(...ends)]).range([128, WIDTH - 58]);
    const height = 17 * (moves.length + 1) + 16;
    const picture = svg("svg", { width: WIDTH, height, viewBox: `0 0 ${WIDTH} ${height}`, class: "waterfall",
      "aria-hidden": "true" });
    picture.append(svg("text", { x: 122, y: 12, "text-anchor": "end" }, means ? "mean row here" : "0"),
      svg("circle", { cx: x(start), cy: 8, r: 3, class: "start" }));
    let at = start;
    moves.forEach(({ name, by }, k) => {
      const [from, to] = [x(at), x(at + by)];
      const y = 17 * (k + 1);
      picture.append(
        svg("text", { x: 122, y: y + 12, "text-anchor": "end" }, name.length > 20 ? `${name.slice(0, 19)}\u2026` : name,
          svg("title", {}, name)),
        svg("rect", { x: Math.min(from, to), y: y + 2, width: Math.max(1, Math.abs(to - from)), height: 12,
          class: by > 0 ? "more" : "less" }),
        svg("text", { x: Math.max(from, to) + 4, y: y + 12 }, `${by > 0 ? "+" : ""}${shown(by, 3)}`));
      at += by;
    });
    picture.append(svg("line", { x1: x(cut), x2: x(cut), y1: 0, y2: height - 14, class: "threshold" }),
      svg("text", { x: x(cut), y: height - 3, "text-anchor": "middle" }, `threshold ${shown(cut)}`));
    return el("div", { class: "waterfall-box" }, picture,
      table("What each term adds", ["Term", "Adds"], [[means ? "mean row here" : "start", shown(start)],
        ...moves.map(({ name, by }) => [name, shown(by)]), ["sum", shown(at)], ["threshold", shown(cut)]],
      { class: "for-readers" }));
  }

  private termName(column: number): string {
    const { name, levels } = this.state.page.columns[column]!;
    const value = this.state.row![column]!;
    if (Number.isNaN(value)) return `${name} (missing)`;
    return levels ? `${name}: ${levels[value] ?? "another level"}` : `${name} = ${shown(value, 3)}`;
  }

  private renderChanges(): void {
    const { state } = this;
    const found = flips(state.page, state.work, state.answers, state.row!);
    found.sort((a, b) => this.size(a.column, a.value) - this.size(b.column, b.value));
    const isOutside = ({ column, value }: Flip): boolean => {
      const { levels, low, high } = state.page.columns[column]!;
      return !levels && low !== null && high !== null && (value < low || value > high);
    };
    const inside = found.filter((flip) => !isOutside(flip)).slice(0, MOST_FLIPS);
    const outside = found.filter(isOutside);
    const what = state.page.trees.some((tree) => tree.nodes[0]!.line) ? "lead to another leaf" : "change the answer";
    fill(this.changes, el("h3", {}, `Smallest single changes that ${what}`),
      inside.length ? el("ul", {}, ...inside.map((flip) => this.change(flip)))
        : el("p", { class: "note" }, "No change of a single feature does, within the range of the rows."),
      outside.length ? el("details", {}, el("summary", {}, `Outside the range of the rows: ${outside.length}`),
        el("ul", {}, ...outside.slice(0, MOST_FLIPS).map((flip) => this.change(flip)))) : null);
  }

  private change({ column, value, answer }: Flip): HTMLElement {
    const { name, levels } = this.state.page.columns[column]!;
    const by = value - this.state.row![column]!;
    const change = Number.isNaN(by) ? "missing now" : `${by > 0 ? "+" : ""}${shown(by, 3)}`;
    const words = levels ? levels[value] ?? "?" : `${shown(value, 4)} (${change})`;
    return el("li", {}, button(`${name} = ${words}`, () => { this.set(column, value); },
      { class: "link", title: "Try this row" }), ` \u2192 ${answerWords(this.state.page, answer.numbers, answer.chosen)}`);
  }

  private size(column: number, value: number): number {
    const { levels } = this.state.page.columns[column]!;
    const by = value - this.state.row![column]!;
    return levels || Number.isNaN(by) ? 0.5 : this.relative([column, by]);
  }
}
