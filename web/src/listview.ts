/** The tree as a nested list: for screen readers, for paper, and for narrow screens. */

import { button, el, fill } from "./dom";
import { counted, percent, shown } from "./numbers";
import type { State } from "./state";
import { branchName, leafWords, question, shortQuestion } from "./words";

export class ListView {
  readonly element = el("section", { class: "list-view", "aria-label": "The tree as a list" });

  constructor(private readonly state: State, private readonly choose: (node: number) => void) {
    state.on(["tree", "edits"], () => { this.render(); }, this.element);
    this.render();
  }

  private render(): void {
    fill(this.element, el("h2", {}, "The tree as a list"), el("ul", { class: "nested" }, this.item(0, "")));
  }

  private item(node: number, lead: string): HTMLElement {
    const { state } = this;
    const info = state.nodes[node]!;
    const leaf = info.kind === "leaf";
    const whole = leaf ? leafWords(state.page, info) : question(state.page, info);
    const words = leaf ? whole : `${whole.length < 260 ? whole : shortQuestion(state.page, info)}?`;
    const made = el("li", {}, lead ? el("span", { class: "lead" }, `${lead}: `) : null,
      button(words, () => { this.choose(node); }, { class: leaf ? "link leaf-words" : "link", title: whole }),
      el("span", { class: "note" }, ` ${this.facts(node)}`));
    if (!leaf) {
      made.append(el("ul", {}, ...info.children.map((child, branch) => (
        this.item(child, branchName(state.page, info, branch))))));
    }
    return made;
  }

  private facts(node: number): string {
    const info = this.state.nodes[node]!;
    if (info.moved) {
      return this.state.rows ? `(${counted(this.state.passing()[node]!.length, "embedded row")})` : "(rows not known)";
    }
    const parts = info.rows === null ? [] : [counted(info.rows, "row")];
    const own = info.says[info.chooses];
    if (info.kind === "leaf" && info.errors !== null && own !== undefined && own > 0) parts.push(percent(own));
    if (info.kind === "leaf" && info.sd !== null) parts.push(`\u00b1 ${shown(info.sd, 3)}`);
    if (info.edited) parts.push("edited");
    return parts.length ? `(${parts.join(", ")})` : "";
  }
}
