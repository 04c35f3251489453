/** The log of edits: taken back, done again, judged, saved and loaded. */

import { append, button, el, fill } from "./dom";
import { loadedEdits, savedEdits } from "./edits";
import { count, percent, shown } from "./numbers";
import type { State } from "./state";

export class EditPanel {
  readonly element = el("section", { class: "panel-body", "aria-label": "Edits" });
  private readonly undo = button("Undo", () => { this.state.undo(); });
  private readonly redo = button("Redo", () => { this.state.redo(); });
  private readonly saved = button("Save edits", () => { this.save(); });
  private readonly log = el("ol", { class: "log" });
  private readonly score = el("div", { class: "score", role: "status" });
  private readonly file = el("input", { type: "file", accept: ".json,application/json",
    "aria-label": "Load edits from a file" });

  /** What was saved last: leaving the page with other edits is asked about. */
  private kept: string;

  constructor(private readonly state: State, private readonly say: (words: string) => void) {
    this.kept = savedEdits(state.page, []);
    this.file.addEventListener("change", () => { void this.load(); });
    fill(this.element, el("h2", {}, "Edits"), this.score,
      el("p", { class: "line" }, this.undo, " ", this.redo, " ", this.saved), this.log,
      el("p", { class: "note" }, "Choose a node and change it in its panel. Saved edits become a model "
        + "with obliqua edit MODEL edits.json -o edited.obliqua, or obliqua.apply_edits. Counts are "
        + "taken anew there if data are given; until then they are not known where rows have moved."),
      el("details", {}, el("summary", {}, "Load edits"), el("p", {}, this.file)));
    window.addEventListener("beforeunload", (event) => {
      if (savedEdits(state.page, state.edits) !== this.kept) event.preventDefault();
    });
    document.addEventListener("keydown", (event) => { this.key(event); });
    state.on(["edits", "tree"], () => { this.render(); }, this.element);
    this.render();
  }

  private key(event: KeyboardEvent): void {
    if (!(event.ctrlKey || event.metaKey) || event.target instanceof HTMLInputElement) return;
    const key = event.key.toLowerCase();
    if (key === "z" && !event.shiftKey) this.state.undo();
    else if (key === "y" || (key === "z" && event.shiftKey)) this.state.redo();
    else return;
    event.preventDefault();
  }

  private render(): void {
    const { state } = this;
    this.undo.disabled = state.done.length === 0;
    this.redo.disabled = state.undone.length === 0;
    this.saved.disabled = state.done.length === 0;
    fill(this.log, ...state.done.map((edits) => el("li", {}, edits[0]!.words,
      edits.length > 1 ? ` (and ${edits.length - 1} more)` : "")));
    if (!state.done.length) append(this.log, el("li", { class: "none" }, "No edits yet."));
    fill(this.score, ...this.scores());
  }

  private scores(): HTMLElement[] {
    const { state } = this;
    const leaves = (nodes: readonly { kind: string; there?: boolean }[]): number => (
      nodes.filter(({ kind, there }) => kind === "leaf" && there !== false).length);
    const before = leaves(state.page.trees[state.tree]!.nodes);
    const now = leaves(state.nodes);
    const parts = state.fared().map(({ set, n, before: was, after }) => {
      const name = state.page.task === "classification" ? "accuracy"
        : `R\u00b2${state.page.names.length > 1 ? ` of ${state.page.names[0]}` : ""}`;
      const write = state.page.task === "classification" ? percent : (value: number) => shown(value, 4);
      const whose = state.page.nTrees === state.page.trees.length ? "" : " of this tree alone";
      return el("p", {}, `${name}${whose} on ${count(n)} embedded ${set} rows: ${write(was)}`,
        ...(state.edits.length || after !== was ? [" \u2192 ", el("b", {}, write(after))] : []));
    });
    if (!parts.length) parts.push(el("p", { class: "note" }, "Nothing to judge edits by: no rows with answers are embedded."));
    return [...parts, el("p", {}, `leaves of this tree: ${before}${now === before ? "" : ` \u2192 ${now}`}`)];
  }

  private save(): void {
    const text = savedEdits(this.state.page, this.state.edits);
    const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    const link = el("a", { href: address, download: "edits.json" });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => { URL.revokeObjectURL(address); }, 10_000);
    this.kept = text;
    this.say("The edits are saved as edits.json.");
  }

  private async load(): Promise<void> {
    const [file] = this.file.files ?? [];
    if (!file) return;
    try {
      const edits = loadedEdits(this.state.page, await file.text());
      this.state.edit(edits);
      this.say(`${edits.length} edits are loaded.`);
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error));
    }
    this.file.value = "";
  }
}
