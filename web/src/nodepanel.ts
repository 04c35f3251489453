/** The chosen node: what it asks and holds, and what can be done with it. */

import { button, el, fill, table } from "./dom";
import { effects, hasNumbers, ranked, roundedPlane, withoutTerm, type Edit, type WorkNode } from "./edits";
import { alongOf, draw, scaleOf } from "./histogram";
import { count, counted, NotANumber, percent, shown, typed } from "./numbers";
import type { State } from "./state";
import type { Plane } from "./types";
import { branchWords, condition, leafWords, question, scoreNotes, shortQuestion } from "./words";

/** What an element is called. */
function nameOf(element: Element): string {
  return element.getAttribute("aria-label") ?? element.textContent;
}

export class NodePanel {
  readonly element = el("section", { class: "panel-body", "aria-label": "The chosen node" });
  private digits = 2;
  private dragging = false;

  constructor(private readonly state: State, private readonly say: (words: string) => void) {
    state.on(["node", "edits", "tree", "row"], () => { if (!this.dragging) this.render(); }, this.element);
    this.render();
  }

  private get node(): WorkNode {
    return this.state.nodes[this.state.node]!;
  }

  private make(edits: Edit[]): void {
    try {
      this.state.edit(edits);
      this.say(edits[0] ? edits[0].words + (edits.length > 1 ? ` (and ${edits.length - 1} more)` : "") : "");
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error));
    }
  }

  private at(words: string): { tree: number; node: number; words: string } {
    return { tree: this.state.page.trees[this.state.tree]!.number, node: this.state.node, words };
  }

  private render(): void {
    const { node, state } = this;
    const leaf = node.kind === "leaf";
    const heading = leaf ? `Leaf ${state.node}: ${leafWords(state.page, node)}`
      : `Question ${state.node}`;
    const kept = this.focused();
    fill(this.element, el("h2", { tabindex: -1 }, heading), leaf ? this.leaf() : this.split(),
      leaf ? this.leafEdits() : this.splitEdits());
    if (kept !== null) this.focus(kept);
  }

  /** What is focused in this panel, by what it is called; null if nothing is. */
  private focused(): string | null {
    const active = document.activeElement;
    return active && this.element.contains(active) ? nameOf(active) : null;
  }

  /** Focus what is called so, or the heading if that is gone. */
  private focus(name: string): void {
    const same = [...this.element.querySelectorAll<HTMLElement>("button, input, select, [tabindex]")]
      .find((element) => nameOf(element) === name);
    (same ?? this.element.querySelector<HTMLElement>("h2")!).focus({ preventScroll: true });
  }

  // --- what there is -----------------------------------------------------------------------------

  private leaf(): HTMLElement {
    const { node, state } = this;
    const facts: [string, string][] = [];
    if (!node.moved && node.rows !== null) facts.push(["Rows", count(node.rows)]);
    if (node.moved) facts.push(["Embedded rows", state.rows ? count(state.passing()[state.node]!.length) : "not known"]);
    if (!node.moved && node.errors !== null && node.weight) {
      facts.push(["Errors", `${shown(node.errors)} (${percent(node.errors / node.weight)})`]);
    }
    if (!node.moved && node.sd !== null) {
      facts.push([node.line ? "Typical error" : "Standard deviation", shown(node.sd)]);
    }
    const shares = state.page.task === "classification"
      ? node.says.map((share, place) => [share, place] as const).filter(([share]) => share > 0)
        .sort((a, b) => b[0] - a[0]).slice(0, 12)
      : [];
    return el("div", {}, this.factList(facts),
      shares.length ? table("Shares of classes", ["Class", "Share"],
        shares.map(([share, place]) => [state.page.names[place]!,
          ["sum", "log_odds"].includes(state.page.finish) ? shown(share) : percent(share)])) : null,
      node.line && !node.edited ? el("p", {}, node.answer) : null);
  }

  private split(): HTMLElement {
    const { node, state } = this;
    const facts: [string, string][] = [];
    if (!node.moved && node.rows !== null) facts.push(["Rows", count(node.rows)]);
    if (node.moved) facts.push(["Embedded rows", state.rows ? count(state.passing()[state.node]!.length) : "not known"]);
    if (node.edited || node.moved) {
      facts.push(["Gain", "not known after edits"]);
    } else {
      if (node.gain !== null) facts.push(["Gain", shown(node.gain, 3)]);
      if (node.axisGain !== null) facts.push(["Best axis-parallel gain", shown(node.axisGain, 3)]);
    }
    if (node.origin && !node.edited) facts.push(["Proposed by", node.origin]);
    return el("div", {},
      ...this.asked(),
      this.histogram(),
      node.children.length > 2 || node.kind === "machine"
        ? el("ol", { class: "branches" }, ...node.children.map((_, branch) => (
          el("li", {}, branchWords(state.page, node, branch))))) : null,
      this.factList(facts),
      ...(node.edited ? scoreNotes(state.page, node) : node.notes).map((note) => (note.length < 120 ? el("p", { class: "note" }, note)
        : el("details", { class: "note" }, el("summary", {}, `${note.slice(0, 40)}\u2026`), note))));
  }

  /** The question, shortened where it is long. */
  private asked(): HTMLElement[] {
    const whole = question(this.state.page, this.node);
    const short = shortQuestion(this.state.page, this.node);
    if (whole.length < 260) return [el("p", { class: "asked" }, whole)];
    return [el("p", { class: "asked" }, short),
      el("details", {}, el("summary", {}, "The whole question"), el("p", {}, whole))];
  }

  private factList(facts: [string, string][]): HTMLElement {
    return el("dl", {}, ...facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
  }

  private histogram(): HTMLElement | null {
    const { node, state } = this;
    const along = alongOf(state, state.node);
    if (!along) return null;
    const movable = node.kind === "hyperplane" && !along.histogram.names;
    const row = state.row ? state.answers.way(state.tree, state.row).steps
      .find((step) => step.node === state.node) : undefined;
    const drawn = draw(state, along, {
      width: 330, height: 118, axis: true,
      row: row && movable ? row.value / scaleOf(node) : null,
      ...(movable ? { moved: (cut: number, done: boolean) => { this.moveCut(cut, done); } } : {}),
    });
    const given = state.page.sets[0]!.name;
    const whose = along.live ? "Embedded rows along the question" : `The ${given} rows along the question`;
    return el("figure", { class: "along" }, drawn, el("figcaption", {}, movable
      ? `${whose}; drag the cut to move the threshold.` : `${whose}.`), this.legend(along.histogram));
  }

  private legend(histogram: { sums: Record<string, number[]>; names: string[] | null }): HTMLElement | null {
    const { page } = this.state;
    if (histogram.names) {
      return el("p", { class: "note" }, `Bars: ${histogram.names.filter(Boolean).join(", ")}`);
    }
    if (page.task !== "classification" || !page.labelled) return null;
    const known = Object.keys(histogram.sums).map(Number);
    return el("ul", { class: "legend" }, ...known.slice(0, 12).map((place) => {
      const chip = el("span", { class: "chip" });
      chip.style.background = page.colours[place]!;
      return el("li", {}, chip, page.names[place]);
    }), known.length > 12 ? el("li", {}, `and ${known.length - 12} more`) : null);
  }

  // --- edits ---------------------------------------------------------------------------------------

  private thresholdEdit(threshold: number): Edit & { edit: "split" } {
    const plane: Plane = { ...this.node.planes[0]!, threshold };
    return { ...this.at(`Node ${this.state.node}: move the threshold: ${condition(this.state.page, plane, 0)}`),
      edit: "split", kind: "hyperplane", plane };
  }

  private moveCut(cut: number, done: boolean): void {
    const edit = this.thresholdEdit(cut * scaleOf(this.node));
    this.dragging = !done;
    if (done) {
      this.state.preview(null);
      if (edit.plane.threshold !== this.node.planes[0]!.threshold) this.make([edit]);
      this.element.querySelector<SVGElement>(".cut")?.focus();
    } else {
      this.state.preview(edit);
      this.element.querySelector(".asked")!.textContent = condition(this.state.page,
        edit.plane, 0);
    }
  }

  private splitEdits(): HTMLElement {
    const { node, state } = this;
    const parts: HTMLElement[] = [];
    const [plane] = node.planes;
    if (node.kind === "hyperplane" && plane && hasNumbers(plane)) {
      parts.push(this.thresholdForm(plane));
      if (plane.coef.length > 1) parts.push(this.terms(plane));
      parts.push(this.roundForm());
    }
    const { axis } = node;
    if (axis && !node.moved && node.children.length === 2) {
      parts.push(el("p", {}, `Best axis-parallel split of the rows here, by ${state.page.criterion}: `, el("b", {}, axis.question), " ",
        button("Take it", () => {
          this.make([{ ...this.at(`Node ${state.node}: take the axis-parallel split ${axis.question}`),
            edit: "split", kind: axis.kind, plane: axis.plane }]);
        })));
    }
    if (!state.page.maySplit) {
      parts.splice(0, parts.length, el("p", { class: "note" }, "Questions of this model cannot be "
        + "changed: it adds up trees of classes."));
    }
    parts.push(el("p", {}, button("Make it a leaf", () => {
      this.make([{ ...this.at(`Node ${state.node}: make it a leaf`), edit: "collapse" }]);
    }), ` that says ${this.asLeaf()}`));
    return el("div", { class: "edit" }, el("h3", {}, "Edit"), ...parts);
  }

  private asLeaf(): string {
    return leafWords(this.state.page, { ...this.node, kind: "leaf" });
  }

  private thresholdForm(plane: Plane): HTMLElement {
    const { node, state } = this;
    const input = el("input", { type: "text", inputmode: "decimal", class: "number",
      "aria-label": "Threshold", value: String(Number((plane.threshold / node.divisor).toPrecision(12))) });
    return el("form", { class: "line", submit: (event) => {
      event.preventDefault();
      try {
        this.make([this.thresholdEdit(typed(input.value) * node.divisor)]);
      } catch (error) {
        if (!(error instanceof NotANumber)) throw error;
        this.say(error.message);
        input.setAttribute("aria-invalid", "true");
      }
    } }, el("label", {}, `Threshold ${node.divisor > 0 ? "(at most) " : "(at least) "}`, input), " ",
    el("button", { type: "submit", "aria-label": `Set the threshold of node ${state.node}` }, "Set"));
  }

  private terms(plane: Plane): HTMLElement {
    const { state, node } = this;
    const size = effects(plane);
    const known = plane.spread.every((spread) => spread !== null);
    const whole = Math.max(...size) || 1;
    return table(known ? "Terms, and how far a standard deviation moves rows" : "Terms",
      ["Feature", "Counts", "Moves", ""],
      ranked(plane).map((k) => {
        const name = state.page.columns[plane.column[k]!]!.name;
        const bar = el("span", { class: "effect", title: shown(size[k]! / scaleOf(node), 3) });
        bar.style.width = `${Math.round(60 * size[k]! / whole)}px`;
        return [name, k in plane.tables ? "by level" : shown(plane.coef[k]! / node.divisor),
          known ? bar : "", button("Drop", () => {
            const made = withoutTerm(plane, k, this.meanOf(plane, k));
            this.make([{ ...this.at(`Node ${state.node}: drop ${name}: ${condition(state.page, made, 0)}`),
              edit: "split", kind: "hyperplane", plane: made }]);
          }, { "aria-label": `Drop ${name}` })];
      }), { class: "terms" });
  }

  /** What a term is multiplied with in the mean row, if its column is as in the model. */
  private meanOf(plane: Plane, k: number): number | null {
    const was = this.state.page.trees[this.state.tree]!.nodes[this.state.node]!;
    const place = was.planes[0]?.column.indexOf(plane.column[k]!) ?? -1;
    return place < 0 || k in plane.tables ? null : was.means?.[place] ?? null;
  }

  private roundForm(): HTMLElement {
    const { state } = this;
    const digits = el("select", { "aria-label": "Digits" },
      ...[1, 2, 3, 4, 5].map((n) => el("option", { value: n, selected: n === this.digits }, String(n))));
    digits.addEventListener("change", () => { this.digits = Number(digits.value); });
    const roundOne = (number: number): Edit[] => {
      const node = state.nodes[number]!;
      const [plane] = node.planes;
      if (node.kind !== "hyperplane" || !plane || !node.there || !hasNumbers(plane)) return [];
      const made = roundedPlane(plane, node.divisor, this.digits);
      return [{ ...this.at(`Node ${number}: round to ${counted(this.digits, "digit")}: ${condition(state.page, made, 0)}`),
        node: number, edit: "split", kind: "hyperplane", plane: made }];
    };
    return el("p", { class: "line" }, "Round to ", digits, " digits: ",
      button("this question", () => { this.make(roundOne(state.node)); }), " ",
      button("all questions", () => { this.make(state.nodes.flatMap((_, number) => roundOne(number))); }));
  }

  private leafEdits(): HTMLElement {
    const { node, state } = this;
    if (!state.page.mayLabel) {
      return el("p", { class: "note" }, "The answer of a single leaf cannot be changed here: this "
        + "model puts together the shares of several trees.");
    }
    if (state.page.task === "classification") {
      const choice = el("select", { "aria-label": "Class" }, ...state.page.names.map((name, place) => (
        el("option", { value: place, selected: place === node.chooses }, name))));
      return el("div", { class: "edit" }, el("h3", {}, "Edit"), el("p", { class: "line" }, "Say ", choice, " ",
        button("Set", () => {
          const chosen = Number(choice.value);
          this.make([{ ...this.at(`Leaf ${state.node}: say ${state.page.names[chosen]}`), edit: "label",
            chosen, value: null }]);
        }, { "aria-label": `Set the class of leaf ${state.node}` })));
    }
    const inputs = node.says.map((value, place) => el("input", { type: "text", inputmode: "decimal",
      class: "number", "aria-label": state.page.names[place]!, value: String(Number(value.toPrecision(12))) }));
    return el("div", { class: "edit" }, el("h3", {}, "Edit"), el("form", { class: "line", submit: (event) => {
      event.preventDefault();
      try {
        const value = inputs.map((input) => typed(input.value));
        this.make([{ ...this.at(`Leaf ${state.node}: say ${value.map((one) => shown(one, 6)).join(", ")}`),
          edit: "label", chosen: null, value }]);
      } catch (error) {
        if (!(error instanceof NotANumber)) throw error;
        this.say(error.message);
      }
    } }, "Say ", ...inputs, " ", el("button", { type: "submit" }, "Set")));
  }
}
