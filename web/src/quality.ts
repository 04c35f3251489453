/** How good the model is: figures, confusion matrices, calibration, residuals. */
import { chart, point, scale, shares } from "./chart";
import { el, fill, svg, table } from "./dom";
import { count, counted, percent, shown } from "./numbers";
import type { CalibrationBin, ClassMeasures, NumberMeasures, Payload, RowSet } from "./types";

const SAID_OF: Record<RowSet["name"], string> = {
  training: "on the rows that the tree was grown from (training): optimistic",
  test: "on rows that it has not seen (test)",
};
const CALLED: Record<RowSet["name"], string> = { training: "Training", test: "Test" };

/** A set of rows with what was measured on it. */
interface Judged<Measures> { set: RowSet; measures: Measures }

/** The part of the page that says how good the model is. */
export function qualityView(page: Payload): HTMLElement {
  const view = el("section", { class: "quality" }, el("h2", {}, "How good"));
  const judged = page.sets.filter(({ classes, numbers }) => classes || numbers);
  if (!judged.length) {
    view.append(el("p", {}, "No rows with answers were given, so nothing can be measured."));
    return view;
  }
  view.append(...judged.map((set) => el("p", { class: "said-of" },
    `Measured ${SAID_OF[set.name]}; ${counted(set.n, "row")}.`)));
  const classes = judged.flatMap((set) => set.classes ? [{ set, measures: set.classes }] : []);
  const numbers = judged.flatMap((set) => set.numbers ? [{ set, measures: set.numbers }] : []);
  if (classes.length) view.append(...ofClasses(page, classes));
  if (numbers.length) view.append(...ofNumbers(numbers));
  return view;
}

/** The same thing of each set, side by side where there is room. */
function beside<M>(judged: Judged<M>[], show: (of: Judged<M>) => HTMLElement): HTMLElement {
  return el("div", { class: "beside" }, ...judged.map((of) => el("div", {},
    judged.length > 1 ? el("h4", {}, CALLED[of.set.name]) : null, show(of))));
}

type Figure<M> = [name: string, meaning: string, value: (measures: M) => string];

/** A row for each figure, a column for each set. */
function figures<M>(judged: Judged<M>[], rows: Figure<M>[]): HTMLElement {
  return scrolled(table("Figures", ["", ...judged.map(({ set }) => CALLED[set.name])],
    rows.map(([name, meaning, value]) => [
      el("span", {}, name, el("small", {}, meaning)),
      ...judged.map(({ measures }) => value(measures))]), { class: "figures" }));
}

/** A box that scrolls when its content is too wide. */
function scrolled(content: HTMLElement): HTMLElement {
  return el("div", { class: "scrolled" }, content);
}

/** A menu with a label. What it changes is shown at once, and when another entry is chosen. */
function menu(words: string, names: string[], start: number, show: (at: number) => void): HTMLElement {
  const select = el("select", { change: () => { show(Number(select.value)); } },
    ...names.map((name, at) => el("option", { value: at, selected: at === start }, name)));
  show(start);
  return el("label", { class: "choice" }, `${words} `, select);
}

// --- classes -----------------------------------------------------------------------------------

function ofClasses(page: Payload, judged: Judged<ClassMeasures>[]): HTMLElement[] {
  const curves = el("div");
  const choose = menu("Class", page.names, page.names.length === 2 ? 1 : 0, (at) => {
    fill(curves, beside(judged, ({ measures }) => calibration(page, measures.calibration[at], at)));
  });
  return [
    figures(judged, CLASS_FIGURES),
    ...judged.flatMap((of) => zeroShares(of, judged.length > 1)),
    el("h3", {}, "Confusion matrix"),
    el("p", { class: "note" }, "A row for each true class, a column for what the rows were given. "
      + "The shade is the share of the row; the diagonal is right."),
    beside(judged, ({ measures }) => confusion(page.names, measures.matrix)),
    el("h3", {}, "Classes"),
    beside(judged, ({ measures }) => classTable(page, measures)),
    el("h3", {}, "Calibration"),
    el("p", { class: "note" }, "Of rows that were given about the same share of a class: how many were "
      + "of it. On the dashed line both are the same. The area of a point tells its rows."),
    choose, curves,
  ];
}

const CLASS_FIGURES: Figure<ClassMeasures>[] = [
  ["Accuracy", "share of rows that were given their class", (of) => percent(of.accuracy)],
  ["Largest class", "accuracy of always saying the most frequent class", (of) => percent(
    Math.max(...of.classes.map(({ n }) => n)) / of.classes.reduce((sum, { n }) => sum + n, 0))],
  ["Balanced accuracy", "mean recall of the classes with rows", (of) => percent(of.balanced)],
  ["Macro F", "mean F of the classes that occur", (of) => of.macroF.toFixed(3)],
  ["Log loss", "mean of \u2212ln of the share of a row\u2019s own class; 0 is perfect",
    (of) => shown(of.logLoss, 3)],
];

/** What a reader must know about the log loss. */
function zeroShares({ set, measures }: Judged<ClassMeasures>, several: boolean): HTMLElement[] {
  if (!measures.zeroShares) return [];
  const where = several ? ` of the ${set.name} rows` : "";
  return [el("p", { class: "note" }, `The own class of ${counted(measures.zeroShares, "row")}${where} got a `
    + "share of 0. The log loss would be infinite; such a share counts as 2.2e\u221216.")];
}

/** The matrix; the cell under the pointer or in focus is read out below. */
function confusion(names: string[], matrix: number[][]): HTMLElement {
  const reading = el("p", { class: "note reading", "aria-live": "polite" },
    "Point at a cell, or walk with the arrow keys.");
  const cells = matrix.map((row, i) => row.map((n, j) => {
    const total = row.reduce((sum, k) => sum + k, 0);
    const words = `true ${names[i]}, given ${names[j]}: ${counted(n, "row")}`
      + (total ? `, ${percent(n / total)} of the ${count(total)} of ${names[i]}` : "");
    const read = (): void => { fill(reading, words); };
    const cell = el("td", {
      class: i === j ? "right" : n ? "wrong" : "none", title: words, tabindex: i + j ? -1 : 0,
      mouseenter: read, focus: read,
    }, count(n));
    cell.style.setProperty("--shade", String(total ? Math.sqrt(n / total) : 0));
    return cell;
  }));
  const body = el("tbody", { keydown: (event) => { walk(event as KeyboardEvent, cells); } },
    ...cells.map((row, i) => el("tr", {}, heading("row", names[i]), ...row)));
  const made = el("table", { class: "confusion" },
    el("caption", {}, "Rows by true class and given class"),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "true \\ given"),
      ...names.map((name) => heading("col", name)))), body);
  return el("div", {}, el("div", { class: "scrolled tall" }, made), reading);
}

/** A heading that may be cut short. */
function heading(scope: string, name: string): HTMLElement {
  return el("th", { scope, title: name }, el("bdi", {}, name));
}

const STEPS: Record<string, [number, number] | undefined> = {
  ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
};

/** Move the focus to the next cell. */
function walk(event: KeyboardEvent, cells: HTMLElement[][]): void {
  const step = STEPS[event.key];
  const i = cells.findIndex((row) => row.includes(event.target as HTMLElement));
  if (!step || i < 0) return;
  const j = cells[i].indexOf(event.target as HTMLElement);
  event.preventDefault();
  const next = (cells[i + step[0]] as HTMLElement[] | undefined)?.[j + step[1]] as HTMLElement | undefined;
  if (!next) return;
  cells[i][j].tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function classTable(page: Payload, measures: ClassMeasures): HTMLElement {
  const rate = (value: number | null): string => value === null ? "\u2013" : percent(value);
  return scrolled(table("Rates of each class",
    ["Class", "Rows", "Recall", "Precision", "F"],
    measures.classes.map((of, at) => [className(page, at), count(of.n), rate(of.recall),
      rate(of.precision), of.f === null ? "\u2013" : of.f.toFixed(3)]), { class: "rates" }));
}

/** The name of a class behind its colour. */
export function className(page: Payload, at: number): HTMLElement {
  const dot = el("span", { class: "dot", "aria-hidden": "true" });
  dot.style.setProperty("background", page.colours[at]);
  return el("span", { class: "class-name" }, dot, el("bdi", {}, page.names[at]));
}

function calibration(page: Payload, bins: CalibrationBin[], at: number): HTMLElement {
  const name = page.names[at];
  const most = Math.max(...bins.map(({ n }) => n), 1);
  const drawing = chart(shares("share that was said"), shares("share that was so"),
    `Calibration of ${name}: the same numbers are in the table below.`, 300, (x, y) => [
      svg("line", { class: "even", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }),
      ...[...bins].sort((a, b) => b.n - a.n).map(({ said, seen, n }) => point(x(said), y(seen), n / most,
        page.colours[at], `${percent(said)} said, ${percent(seen)} so; ${counted(n, "row")}`))]);
  return el("div", {}, drawing, details(table(`Calibration of ${name}`, ["Said", "Was so", "Rows"],
    bins.map(({ said, seen, n }) => [percent(said), percent(seen), count(n)]))));
}

/** What a drawing shows, as a table. */
function details(numbers: HTMLTableElement): HTMLElement {
  return el("details", {}, el("summary", {}, "The same as numbers"), scrolled(numbers));
}

// --- numbers -----------------------------------------------------------------------------------

function ofNumbers(judged: Judged<NumberMeasures[]>[]): HTMLElement[] {
  const view = el("div");
  const names = judged[0].measures.map(({ name }) => name);
  const choose = menu("Output", names, 0, (at) => {
    const chosen = judged.map(({ set, measures }) => ({ set, measures: measures[at] }));
    fill(view,
      figures(chosen, NUMBER_FIGURES),
      el("h3", {}, "Predicted and true"),
      el("p", { class: "note" }, "The more rows, the stronger the colour. On the dashed line both are the same."),
      beside(chosen, ({ measures }) => agreement(measures)),
      el("h3", {}, "Residuals"),
      el("p", { class: "note" }, "True minus predicted. What lies further out is in the outermost bars."),
      beside(chosen, ({ measures }) => residuals(measures)));
  });
  return names.length > 1 ? [choose, view] : [view];
}

const NUMBER_FIGURES: Figure<NumberMeasures>[] = [
  ["R\u00b2", "share of the variance that is explained", (of) => of.r2 === null ? "not defined" : shown(of.r2, 3)],
  ["RMSE", "root of the mean squared error", (of) => shown(of.rmse)],
  ["MAE", "mean absolute error", (of) => shown(of.mae)],
  ["Bias", "mean of true minus predicted", (of) => shown(
    Math.abs(of.bias) < 1e-9 * of.rmse ? 0 : of.bias, 3)],
];

function agreement({ name, low, high, bins, cells }: NumberMeasures): HTMLElement {
  const most = Math.max(...cells.map(([, , n]) => n), 1);
  const at = (place: number): number => low * (1 - place / bins) + high * (place / bins);
  const drawing = chart(scale(low, high, "predicted"), scale(low, high, "true"),
    `Predicted and true numbers of ${name}: counts in a grid of ${bins} by ${bins}.`, 300, (x, y) => [
      ...cells.map(([i, j, n]) => svg("rect", {
        class: "cell", x: x(at(i)), y: y(at(j + 1)), width: x(at(i + 1)) - x(at(i)),
        height: y(at(j)) - y(at(j + 1)), "fill-opacity": (0.25 + 0.75 * Math.sqrt(n / most)).toFixed(3),
      }, svg("title", {}, `predicted ${shown(at(i), 3)} to ${shown(at(i + 1), 3)}, `
        + `true ${shown(at(j), 3)} to ${shown(at(j + 1), 3)}: ${counted(n, "row")}`))),
      svg("line", { class: "even", x1: x(low), y1: y(low), x2: x(high), y2: y(high) })]);
  return el("div", {}, drawing);
}

function residuals({ name, residualLow: low, residualHigh: high, residuals: counts }: NumberMeasures): HTMLElement {
  const at = (place: number): number => low * (1 - place / counts.length) + high * (place / counts.length);
  const between = (place: number): string => `${shown(at(place), 3)} to ${shown(at(place + 1), 3)}`;
  const drawing = chart(scale(low, high, "true minus predicted"), {
    low: 0, high: Math.max(...counts), label: "rows", written: (n) => Number.isInteger(n) ? count(n) : "",
  }, `Residuals of ${name}: the same numbers are in the table below.`, 220, (x, y) => [
    ...counts.map((n, place) => svg("rect", {
      class: "cell", x: x(at(place)) + 0.5, y: y(n), width: x(at(place + 1)) - x(at(place)) - 1,
      height: y(0) - y(n),
    }, svg("title", {}, `${between(place)}: ${counted(n, "row")}`))),
    svg("line", { class: "even", x1: x(0), y1: y(0), x2: x(0), y2: y(Math.max(...counts)) })]);
  return el("div", {}, drawing, details(table(`Residuals of ${name}`, ["Residual", "Rows"],
    counts.map((n, place) => [between(place), count(n)]))));
}
