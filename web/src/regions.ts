/** What the leaves hold, and which columns matter. */
import { chart, point, shares } from "./chart";
import { button, el, fill, table } from "./dom";
import { count, counted, percent, shown } from "./numbers";
import { className } from "./quality";
import type { Payload, Region } from "./types";

/** So many bars are shown at first. */
const FIRST = 20;
/** A longer text is shown in full when it is asked for. */
const LONG = 200;

type Key = "leaf" | "label" | "rows" | "coverage" | "density" | "mean" | "sd";

interface Heading { key: Key; words: string; meaning: string }

const LEAF: Heading = { key: "leaf", words: "Leaf", meaning: "the number of the leaf in the tree" };
const ROWS: Heading = { key: "rows", words: "Rows", meaning: "rows in the leaf, and their share of all" };
const OF_CLASSES: Heading[] = [LEAF,
  { key: "label", words: "Class", meaning: "the class that the leaf chooses" }, ROWS,
  { key: "coverage", words: "Coverage", meaning: "of all rows of the class, those in this leaf" },
  { key: "density", words: "Density", meaning: "of the rows in this leaf, those of the class" }];
const OF_NUMBERS: Heading[] = [LEAF,
  { key: "mean", words: "Mean", meaning: "the mean of the rows in the leaf" }, ROWS,
  { key: "sd", words: "Spread", meaning: "the standard deviation of the rows in the leaf" }];

const COUNTED_ON: Record<string, string | undefined> = {
  training: "the training rows",
  test: "rows that the tree has not seen (test)",
  "": "the rows that the tree has counted",
};

/** The leaves of a tree as a table that can be sorted; made anew when another tree is chosen. */
export function regionsView(
  page: Payload, treeAt: () => number, choose: (leaf: number) => void,
): HTMLElement {
  const regions = page.regions[treeAt()] as Region[] | undefined ?? [];
  const view = el("section", { class: "regions" }, el("h2", {}, "Regions"));
  if (!regions.length) {
    view.append(el("p", {}, "The leaves of this tree are not listed."));
    return view;
  }
  const classes = regions.some(({ label }) => label !== null);
  view.append(el("p", { class: "note" }, "Each leaf is a region, counted on "
    + `${COUNTED_ON[page.regionRows] ?? page.regionRows}. Choose a leaf to see it in the tree.`));
  if (regions.some(({ coverage, density }) => coverage !== null && density !== null)) {
    view.append(scatter(page, regions, choose));
  }
  const headings = (classes ? OF_CLASSES : OF_NUMBERS).filter(({ key }) => key === "rows"
    || regions.some((region) => region[key] !== null));
  view.append(sortable(page, regions, headings, choose));
  return view;
}

/** A table whose headings sort it. */
function sortable(
  page: Payload, regions: Region[], headings: Heading[], choose: (leaf: number) => void,
): HTMLElement {
  const body = el("tbody");
  const cells = headings.map((heading) => ({ heading, cell: el("th", { scope: "col", class: heading.key }) }));
  const sort = (key: Key, down: boolean): void => {
    const known = regions.filter((region) => region[key] !== null);
    const unknown = regions.filter((region) => region[key] === null);
    known.sort((a, b) => (down ? -1 : 1) * (a[key]! - b[key]!));
    fill(body, ...[...known, ...unknown].map((region) => row(page, region, headings, choose)));
    for (const { heading, cell } of cells) {
      const here = heading.key === key;
      if (here) cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
  };
  for (const { heading: { key, words, meaning }, cell } of cells) {
    // What is large comes first, but for names.
    const first = key !== "leaf" && key !== "label";
    cell.append(button(words, () => {
      const now = cell.getAttribute("aria-sort");
      sort(key, now === null ? first : now === "ascending");
    }, { title: meaning }));
  }
  sort("rows", true);
  return el("div", { class: "scrolled tall" }, el("table", { class: "regions-table" },
    el("caption", {}, "Leaves of the tree"),
    el("thead", {}, el("tr", {}, ...cells.map(({ cell }) => cell),
      regions[0].label === null ? el("th", { scope: "col", class: "words" }, "Says") : null,
      el("th", { scope: "col", class: "words" }, "Rule"))), body));
}

function row(
  page: Payload, region: Region, headings: Heading[], choose: (leaf: number) => void,
): HTMLElement {
  const show = button(String(region.leaf), () => { choose(region.leaf); },
    { "aria-label": `Show leaf ${region.leaf} in the tree` });
  return el("tr", {
    click: (event) => {
      if (!(event.target as Element).closest("button, summary")) choose(region.leaf);
    },
  },
  ...headings.map(({ key }) => key === "leaf"
    ? el("th", { scope: "row" }, show) : el("td", { class: key }, shownIn(page, region, key))),
  region.label === null ? el("td", { class: "words" }, folded(region.answer)) : null,
  el("td", { class: "words" }, folded(region.rule)));
}

/** What a cell shows. */
function shownIn(page: Payload, region: Region, key: Key): Node | string {
  const value = region[key];
  if (value === null) return key === "rows" && region.share !== null ? percent(region.share) : "not known";
  if (key === "label") return className(page, value);
  if (key === "rows") return rowsOf(region);
  return key === "mean" || key === "sd" ? shown(value) : bar(value);
}

function rowsOf({ rows, share }: Region): string {
  return count(rows!) + (share === null ? "" : ` (${percent(share)})`);
}

/** A small bar with its number. */
function bar(share: number, written = percent(share)): HTMLElement {
  const length = el("span", { class: "length" });
  length.style.setProperty("width", `${(100 * share).toFixed(2)}%`);
  return el("span", { class: "bar" }, el("span", { class: "track", "aria-hidden": "true" }, length),
    el("span", { class: "value" }, written));
}

/** A text that is long only when it is asked for. */
function folded(text: string): Node {
  const letters = [...text];
  if (letters.length <= LONG) return el("bdi", {}, text);
  const start = `${letters.slice(0, LONG - 20).join("")}\u2026`;
  return el("details", {}, el("summary", {}, el("bdi", {}, start)), el("bdi", {}, text));
}

/** Coverage against density; the table has the same numbers. */
function scatter(page: Payload, regions: Region[], choose: (leaf: number) => void): SVGSVGElement {
  const most = Math.max(...regions.map(({ share }) => share ?? 0)) || 1;
  const known = regions.filter(({ coverage, density }) => coverage !== null && density !== null)
    .sort((a, b) => (b.share ?? 0) - (a.share ?? 0));
  return chart(shares("coverage: of its class, how much is here"),
    shares("density: how pure the leaf is"),
    "Leaves by coverage and density: the same numbers are in the table below.", 300, (x, y) => known.map((region) => {
      const made = point(x(region.coverage!), y(region.density!), (region.share ?? 0) / most,
        page.colours[region.label!], `leaf ${region.leaf}, ${page.names[region.label!]}: coverage `
        + `${percent(region.coverage!)}, density ${percent(region.density!)}`
        + (region.rows === null ? "" : `, ${counted(region.rows, "row")}`));
      made.classList.add("choosable");
      made.addEventListener("click", () => { choose(region.leaf); });
      return made;
    }));
}

/** How much each column matters, the largest first. */
export function importancesView(page: Payload): HTMLElement {
  const view = el("section", { class: "importances" }, el("h2", {}, "Importances"));
  const { importances } = page;
  if (importances === null) {
    view.append(el("p", {}, "The importances of the columns are not known: what the splits gain, or "
      + "how much the columns vary at them, is not known of this model."));
    return view;
  }
  const order = importances.map((_, column) => column).sort((a, b) => importances[b] - importances[a]);
  const largest = importances[order[0]];
  if (!(largest > 0)) {
    view.append(el("p", {}, "No column has gained anything: there is no split, or none that gains."));
    return view;
  }
  const shownFirst = (n: number): HTMLTableElement => table("Share of each column in what the splits gain",
    ["Column", "Importance"], order.slice(0, n).map((column) => [
      el("bdi", {}, page.columns[column].name),
      bar(importances[column] / largest, percent(importances[column]))]), { class: "importances-table" });
  const box = el("div", { class: "scrolled" }, shownFirst(FIRST));
  view.append(el("p", { class: "note" }, "From the training rows. Columns that tell the same share what "
    + "each would have alone."), box);
  if (order.length > FIRST) {
    const more = button(`Show all ${count(order.length)} columns`, () => {
      fill(box, shownFirst(order.length));
      more.remove();
      box.tabIndex = -1;
      box.focus();
    });
    view.append(more);
  }
  return view;
}
