/** Puts the page together. */

import type { Answer } from "./answers";
import { append, button, el, fill } from "./dom";
import { EditPanel } from "./editpanel";
import { savedEdits } from "./edits";
import { ListView } from "./listview";
import { NodePanel } from "./nodepanel";
import { qualityView } from "./quality";
import { importancesView, regionsView } from "./regions";
import { State } from "./state";
import { TreeView } from "./treeview";
import { TryRow } from "./tryrow";
import type { Payload } from "./types";

/** Headings that choose one of several parts, with the arrow keys too. */
class Tabs {
  readonly bar: HTMLElement;
  readonly parts: HTMLElement[];
  private readonly heads: HTMLButtonElement[];

  constructor(label: string, entries: [string, HTMLElement][], private readonly shown: (place: number) => void) {
    this.heads = entries.map(([name], place) => button(name, () => { this.choose(place); },
      { role: "tab", id: `tab-${slug(label)}-${place}`, "aria-controls": `part-${slug(label)}-${place}` }));
    this.parts = entries.map(([name, part], place) => el("div", { role: "tabpanel", class: "part",
      id: `part-${slug(label)}-${place}`, "aria-labelledby": `tab-${slug(label)}-${place}`, "data-name": name }, part));
    this.bar = el("div", { role: "tablist", class: "tabs", "aria-label": label }, ...this.heads);
    this.bar.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step === undefined) return;
      const now = this.heads.indexOf(document.activeElement as HTMLButtonElement);
      const next = (now + step + this.heads.length) % this.heads.length;
      this.choose(next);
      this.heads[next]!.focus();
    });
    this.choose(0);
  }

  choose(place: number): void {
    this.heads.forEach((head, at) => {
      head.setAttribute("aria-selected", String(at === place));
      head.tabIndex = at === place ? 0 : -1;
      this.parts[at]!.hidden = at !== place;
    });
    this.shown(place);
  }
}

const slug = (text: string): string => text.toLowerCase().replace(/\W+/g, "-");

/** Dark, light, or as the system has it. */
function themeButton(): HTMLButtonElement {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let dark = false;
  const made = button("", () => { choose(!dark); });
  const choose = (wanted: boolean): void => {
    dark = wanted;
    document.documentElement.dataset["theme"] = dark ? "dark" : "light";
    made.textContent = dark ? "Light" : "Dark";
  };
  system.addEventListener("change", () => { choose(system.matches); });
  choose(system.matches);
  return made;
}

function header(page: Payload, state: State): HTMLElement {
  const top = el("div", { class: "top" }, el("h1", {}, page.title));
  if (page.trees.length > 1) {
    const choice = el("select", { "aria-label": "Which tree" }, ...page.trees.map(({ number, nodes }, place) => (
      el("option", { value: place },
        `Tree ${number} (${nodes.filter(({ kind }) => kind === "leaf").length} leaves)`))));
    choice.addEventListener("change", () => { state.chooseTree(Number(choice.value)); });
    append(top, choice);
  }
  // A notebook shows the page in a frame, which cannot print.
  if (window.self === window.top) append(top, button("Print", () => { window.print(); }, { class: "quiet" }));
  append(top, themeButton());
  const facts = el("dl", { class: "facts" }, ...page.facts.flatMap(([name, value]) => [
    el("dt", {}, name), el("dd", {}, value)]));
  const notes = page.notes.map((note) => el("p", { class: "note" }, note));
  const open = page.nTrees > page.trees.length;
  return el("header", {}, top, el("details", { class: "about", open }, el("summary", {},
    page.facts.filter(([name]) => name !== "model").map(([name, value]) => `${name}: ${value}`).join(" \u00b7 ")),
  facts, ...notes, el("p", { class: "note" }, `Written by ${page.writtenBy}. `
    + "This page loads nothing and sends nothing.")));
}

function made(page: Payload, at: HTMLElement): void {
  const state = new State(page);
  forConsole(state);
  const status = el("p", { class: "status", role: "status", "aria-live": "polite" });
  const say = (words: string): void => { status.textContent = words; };
  const trying = new TryRow(state, say);
  const side = new Tabs("Panels", [
    ["Node", new NodePanel(state, say).element],
    ["Try a row", trying.element],
    ["Edits", new EditPanel(state, say).element],
  ], (place) => {
    state.catchUp();
    if (place === 1) trying.begin();
  });
  const tree = new TreeView(state);
  const choose = (node: number): void => {
    views.choose(0);
    tree.show(node);
    side.choose(0);
  };
  const regions = el("div", {});
  const before = (): HTMLElement => {
    const words = el("p", { class: "warning", hidden: true }, "Trees were edited. What stands here is "
      + "of the model as it was before.");
    state.on(["edits"], () => { words.hidden = !state.edits.length; });
    return words;
  };
  const renewRegions = (): void => {
    fill(regions, importancesView(page), regionsView(page, () => state.tree, choose));
  };
  const views = new Tabs("Views", [
    ["Tree", el("div", { class: "workbench" }, tree.element,
      el("aside", { class: "side", "aria-label": "Details" }, side.bar, ...side.parts))],
    ["How good", el("div", {}, before(), qualityView(page))],
    ["Features and regions", el("div", {}, before(), regions)],
    ["As a list", new ListView(state, choose).element],
  ], (place) => {
    state.catchUp();
    if (place === 0) requestAnimationFrame(() => { tree.ensureFitted(); });
  });
  state.on(["tree"], renewRegions, regions);
  renewRegions();
  fill(at, header(page, state), views.bar, el("main", {}, ...views.parts), status);
  requestAnimationFrame(() => { tree.fit(); });
  window.addEventListener("beforeprint", () => {
    state.catchUp(true);
    document.querySelector<HTMLDetailsElement>(".about")!.open = true;
    tree.forPaper(true);
  });
  window.addEventListener("afterprint", () => { tree.forPaper(false); });
}

/** What the console of a browser can ask: rows are lists of numbers, codes of levels, and null. */
function forConsole(state: State): void {
  const said = (row: (number | null)[]): Answer => (
    state.answers.of(Float64Array.from(row, (entry) => entry ?? NaN)));
  Object.defineProperty(window, "obliqua", { value: Object.freeze({
    /** Shares of classes or numbers, the number of the class, and the leaves: after the edits. */
    answer: (row: (number | null)[]) => said(row),
    /** The text of the file that Save edits would write. */
    edits: () => savedEdits(state.page, state.edits),
    nEmbedded: () => state.rows?.n ?? 0,
    embedded: (row: number) => Array.from(state.rows!.at(row), (entry) => (Number.isNaN(entry) ? null : entry)),
  }) });
}

const payload = JSON.parse(document.getElementById("payload")!.textContent) as Payload;
made(payload, document.getElementById("page")!);
