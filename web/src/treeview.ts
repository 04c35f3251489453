/** The tree as a picture that can be moved, zoomed, folded and searched. */

import { hierarchy, tree as layout, type HierarchyPointNode } from "d3-hierarchy";
import { select } from "d3-selection";
import { zoom, zoomIdentity, type ZoomBehavior } from "d3-zoom";
import { append, button, el, fill, svg } from "./dom";
import { alongOf, draw, placeOf, rampColour } from "./histogram";
import { count, counted, percent, shown } from "./numbers";
import type { State } from "./state";
import { branchName, leafWords, question, shortQuestion } from "./words";

const INNER = { width: 200, height: 116 };
const LEAF = { width: 128, height: 84 };
const LEVEL = 168;
/** Larger trees are first shown folded below some depth. */
const MOST_LEAVES_AT_FIRST = 40;
/** The room for the picture on paper, for A4 and for letter. */
const PAPER = { width: 680, height: 880 };

interface Datum { node: number; children: Datum[] }
type Placed = HierarchyPointNode<Datum>;

export class TreeView {
  readonly element: HTMLElement;
  private readonly stage = el("div", { class: "stage" });
  private readonly links = svg("svg", { class: "links", "aria-hidden": "true" });
  private readonly cards = el("div", { class: "cards", role: "tree", "aria-label": "The tree" });
  private readonly port = el("div", { class: "port" });
  private readonly found = el("output", { class: "found" });
  private readonly depth = el("output", { class: "depth" });
  private readonly search = el("input", { type: "search", placeholder: "Search",
    "aria-label": "Search questions and answers", class: "search" });
  private readonly zooming: ZoomBehavior<HTMLElement, unknown>;
  private readonly by = new Map<number, HTMLElement>();
  private placed: Placed[] = [];
  private limit = Infinity;
  private hit = -1;
  private fitted = false;

  constructor(private readonly state: State) {
    append(this.stage, this.links, this.cards);
    append(this.port, this.stage);
    this.zooming = zoom<HTMLElement, unknown>().scaleExtent([0.02, 3])
      .filter((event: Event) => !(event.target as Element).closest?.("input, select, .grip")
        && !(event as MouseEvent).button)
      .on("zoom", (event: { transform: { x: number; y: number; k: number } }) => {
        const { x, y, k } = event.transform;
        this.stage.style.transform = `translate(${x}px, ${y}px) scale(${k})`;
        this.port.classList.toggle("far", k < 0.5);
      });
    select<HTMLElement, unknown>(this.port).call(this.zooming).on("dblclick.zoom", null);
    this.element = el("div", { class: "tree-view" }, this.tools(), this.port, el("p", { class: "paper-note" },
      "The picture of the tree is too wide for paper; the list below has all of it."));
    this.cards.addEventListener("keydown", (event) => { this.key(event); });
    state.on(["tree"], () => { this.firstLook(); });
    state.on(["folds", "edits"], () => { this.render(); });
    state.on(["node"], () => { this.mark(); });
    state.on(["row"], () => { this.light(); });
    this.firstLook();
  }

  private tools(): HTMLElement {
    this.search.addEventListener("input", () => { this.hit = -1; this.find(0); });
    this.search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.find(event.shiftKey ? -1 : 1);
    });
    return el("div", { class: "tools", role: "toolbar", "aria-label": "The picture of the tree" },
      button("Fit", () => { this.fit(); }, { title: "Show the whole tree" }),
      button("+", () => { this.zoomBy(1.3); }, { "aria-label": "Zoom in" }),
      button("\u2212", () => { this.zoomBy(1 / 1.3); }, { "aria-label": "Zoom out" }),
      el("span", { class: "group" }, "Levels ",
        button("\u2212", () => { this.setLimit(this.level() - 1); }, { "aria-label": "Fewer levels" }),
        this.depth,
        button("+", () => { this.setLimit(this.level() + 1); }, { "aria-label": "More levels" }),
        button("All", () => { this.setLimit(Infinity); }, { "aria-label": "All levels" })),
      this.search, this.found);
  }

  // --- layout ----------------------------------------------------------------------------------

  private data(node = 0): Datum {
    const folded = this.state.folded[this.state.tree]!.has(node);
    const children = folded ? [] : this.state.nodes[node]!.children;
    return { node, children: children.map((child) => this.data(child)) };
  }

  private depths(): number[] {
    const { nodes } = this.state;
    const depth = new Array<number>(nodes.length).fill(0);
    nodes.forEach(({ children }, node) => {
      for (const child of children) depth[child] = depth[node]! + 1;
    });
    return depth;
  }

  /** How many levels are shown. */
  private level(): number {
    const deepest = Math.max(...this.depths().filter((_, node) => this.state.nodes[node]!.there));
    return Math.min(this.limit, deepest);
  }

  private setLimit(limit: number): void {
    this.limit = Math.max(1, limit);
    const depth = this.depths();
    this.state.foldAll(this.state.nodes.flatMap(({ kind, there }, node) => (
      there && kind !== "leaf" && depth[node]! >= this.limit ? [node] : [])));
    this.fit();
  }

  private firstLook(): void {
    const depth = this.depths();
    const { nodes } = this.state;
    let limit = Infinity;
    if (nodes.filter(({ kind }) => kind === "leaf").length > MOST_LEAVES_AT_FIRST) {
      limit = 1;
      const width = (at: number): number => nodes.filter(({ kind }, node) => (
        depth[node] === at || (depth[node]! < at && kind === "leaf"))).length;
      while (width(limit + 1) <= MOST_LEAVES_AT_FIRST / 2) limit++;
    }
    this.fitted = false;
    this.setLimit(limit);
  }

  private render(): void {
    const root = layout<Datum>().nodeSize([LEAF.width / 2 + 12, LEVEL])
      .separation((a, b) => (this.half(a.data.node) + this.half(b.data.node)) / (LEAF.width / 2 + 12))(
        hierarchy(this.data(), ({ children }) => children));
    this.placed = root.descendants();
    const left = Math.min(...this.placed.map(({ x }) => x)) - INNER.width / 2 - 20;
    const right = Math.max(...this.placed.map(({ x }) => x)) + INNER.width / 2 + 20;
    const size = { width: right - left, height: root.height * LEVEL + INNER.height + 40 };
    for (const one of this.placed) { one.x -= left; one.y += 20; }
    this.stage.style.width = `${size.width}px`;
    this.stage.style.height = `${size.height}px`;
    this.links.setAttribute("width", String(size.width));
    this.links.setAttribute("height", String(size.height));
    fill(this.links, ...root.links().map(({ source, target }) => this.link(source, target)));
    const focused = this.cards.contains(document.activeElement);
    this.by.clear();
    fill(this.cards, ...this.placed.map((one) => this.card(one)));
    this.depth.textContent = ` ${this.level()} `;
    this.mark();
    this.light();
    if (focused) this.by.get(this.state.node)?.focus({ preventScroll: true });
    if (!this.fitted) this.fit();
  }

  private half(node: number): number {
    return (this.state.nodes[node]!.kind === "leaf" ? LEAF.width : INNER.width) / 2 + 8;
  }

  /** The share of rows at a node: of those that the tree has counted, or of embedded ones. */
  private share(node: number): number | null {
    const { moved, weight } = this.state.nodes[node]!;
    const whole = this.state.nodes[0]!.weight;
    if (!moved) return weight !== null && whole ? weight / whole : null;
    return this.state.rows ? this.state.passing()[node]!.length / this.state.rows.n : null;
  }

  private link(source: Placed, target: Placed): SVGElement {
    const branch = this.state.nodes[source.data.node]!.children.indexOf(target.data.node);
    const share = this.share(target.data.node) ?? 0.05;
    const [y1, y2] = [source.y + this.heightOf(source.data.node), target.y];
    const middle = (y1 + y2) / 2;
    const above = this.state.nodes[source.data.node]!;
    // A linear machine has a formula for each branch, which its panel lists by number.
    const name = above.kind === "machine" ? `${branch + 1}` : branchName(this.state.page, above, branch);
    return svg("g", { "data-to": target.data.node },
      svg("path", { d: `M${source.x} ${y1}C${source.x} ${middle} ${target.x} ${middle} ${target.x} ${y2}`,
        "stroke-width": 1.5 + 14 * Math.sqrt(Math.min(1, share)) }),
      svg("text", { x: target.x, y: y2 - 6, "text-anchor": "middle" },
        name.length > 24 ? `${name.slice(0, 23)}\u2026` : name));
  }

  private heightOf(node: number): number {
    return this.state.nodes[node]!.kind === "leaf" ? LEAF.height : INNER.height;
  }

  // --- cards -----------------------------------------------------------------------------------

  private card(one: Placed): HTMLElement {
    const { state } = this;
    const { node } = one.data;
    const info = state.nodes[node]!;
    const leaf = info.kind === "leaf";
    const size = leaf ? LEAF : INNER;
    const folded = state.folded[state.tree]!.has(node) && !leaf;
    const made = el("div", { class: `card ${leaf ? "leaf" : "split"}${info.edited ? " edited" : ""}`,
      role: "treeitem", tabindex: -1, "data-node": node, "aria-level": one.depth + 1,
      "aria-expanded": leaf ? null : String(!folded), "aria-label": this.spoken(node),
      click: () => { state.chooseNode(node); } },
    ...(leaf ? this.leafParts(node) : this.splitParts(node)));
    if (!leaf) {
      const below = this.leavesBelow(node);
      made.append(button(folded ? `+${count(below)}` : "\u2212", () => { state.fold(node, !folded); },
        { class: "fold", tabindex: -1, "aria-label": folded ? `Show the ${below} leaves below`
          : "Hide what is below" }));
    }
    made.style.left = `${one.x - size.width / 2}px`;
    made.style.top = `${one.y}px`;
    made.style.width = `${size.width}px`;
    made.style.height = `${size.height}px`;
    this.by.set(node, made);
    return made;
  }

  private leavesBelow(node: number): number {
    const { children } = this.state.nodes[node]!;
    return children.length ? children.reduce((sum, child) => sum + this.leavesBelow(child), 0) : 1;
  }

  private splitParts(node: number): (Node | string)[] {
    const info = this.state.nodes[node]!;
    const asked = question(this.state.page, info);
    const along = alongOf(this.state, node);
    const gain = info.edited || info.moved || info.gain === null ? "" : `gain ${shown(info.gain, 3)}`;
    return [
      el("div", { class: "question", title: asked }, shortQuestion(this.state.page, info)),
      along ? draw(this.state, along, { width: INNER.width - 16, height: 34 }) : this.mixBar(node),
      el("div", { class: "facts" }, [this.rowsText(node), gain].filter(Boolean).join(" \u00b7 ")),
    ];
  }

  private leafParts(node: number): (Node | string)[] {
    const info = this.state.nodes[node]!;
    const { page } = this.state;
    const words = leafWords(page, info);
    const chip = el("span", { class: "chip" });
    chip.style.background = page.task === "classification" ? page.colours[info.chooses] ?? ""
      : rampColour(page, placeOf(this.state, info.says[0]!));
    let quality = "";
    if (!info.moved && info.errors !== null) quality = `${shown(info.errors, 3)} ${info.errors === 1 ? "error" : "errors"}`;
    if (!info.moved && info.sd !== null) quality = `\u00b1 ${shown(info.sd, 3)}`;
    return [
      el("div", { class: "answer", title: words }, chip, el("span", {}, words)),
      this.mixBar(node),
      el("div", { class: "facts" }, this.rowsText(node), el("br"), quality),
    ];
  }

  private rowsText(node: number): string {
    const info = this.state.nodes[node]!;
    if (info.moved) {
      if (!this.state.rows) return "rows not known";
      return `${count(this.state.passing()[node]!.length)} embedded rows`;
    }
    return info.rows === null ? "" : counted(info.rows, "row");
  }

  /** The shares of classes as a bar. */
  private mixBar(node: number): SVGElement {
    const { page } = this.state;
    const info = this.state.nodes[node]!;
    const width = (info.kind === "leaf" ? LEAF.width : INNER.width) - 16;
    const bar = svg("svg", { width, height: 10, class: "mix", "aria-hidden": "true" });
    if (page.task === "regression") {
      const at = 3 + Math.min(1, Math.max(0, placeOf(this.state, info.says[0]!))) * (width - 6);
      bar.append(svg("line", { x1: 0, x2: width, y1: 5, y2: 5, class: "floor" }),
        svg("circle", { cx: at, cy: 5, r: 4,
          fill: rampColour(page, placeOf(this.state, info.says[0]!)) }));
      return bar;
    }
    const whole = info.says.reduce((sum, share) => sum + Math.max(0, share), 0) || 1;
    let from = 0;
    info.says.forEach((share, place) => {
      const part = Math.max(0, share) / whole * width;
      if (part <= 0) return;
      bar.append(svg("rect", { x: from, width: part, height: 10, fill: page.colours[place]! },
        svg("title", {}, `${page.names[place]}: ${percent(share / whole)}`)));
      from += part;
    });
    return bar;
  }

  /** What a screen reader says of a node. */
  private spoken(node: number): string {
    const info = this.state.nodes[node]!;
    const parent = this.state.parent(node);
    const branch = parent < 0 ? "" : `${branchName(this.state.page, this.state.nodes[parent]!,
      this.state.nodes[parent]!.children.indexOf(node))}: `;
    const what = info.kind === "leaf" ? `leaf, ${leafWords(this.state.page, info)}`
      : `question, ${question(this.state.page, info)}`;
    return `${branch}${what}, ${this.rowsText(node)}${info.edited ? ", edited" : ""}`;
  }

  // --- marks -----------------------------------------------------------------------------------

  private mark(): void {
    for (const [node, card] of this.by) {
      const chosen = node === this.state.node;
      card.classList.toggle("chosen", chosen);
      card.setAttribute("aria-selected", String(chosen));
      card.tabIndex = chosen ? 0 : -1;
    }
    if (!this.by.has(this.state.node)) this.by.get(0)!.tabIndex = 0;
  }

  private light(): void {
    const { row } = this.state;
    const way = row ? this.state.answers.way(this.state.tree, row) : null;
    const lit = new Set(way ? [...way.steps.map(({ node }) => node), way.end] : []);
    this.port.classList.toggle("trying", lit.size > 0);
    for (const [node, card] of this.by) card.classList.toggle("lit", lit.has(node));
    for (const link of this.links.children) {
      link.classList.toggle("lit", lit.has(Number(link.getAttribute("data-to"))));
    }
  }

  private find(step: number): void {
    const wanted = this.search.value.trim().toLowerCase();
    const { nodes, page } = this.state;
    const hits = wanted === "" ? [] : nodes.flatMap((info, node) => {
      const words = info.kind === "leaf" ? leafWords(page, info) : question(page, info);
      return info.there && (words.toLowerCase().includes(wanted) || `${node}` === wanted) ? [node] : [];
    });
    this.found.textContent = wanted === "" ? "" : hits.length === 0 ? "not found"
      : `${counted(hits.length, "node")}`;
    if (hits.length && (step !== 0 || hits.length === 1)) {
      this.hit = (this.hit + step + hits.length) % hits.length;
      this.show(hits[this.hit]!);
      this.found.textContent = `${this.hit + 1} of ${hits.length}`;
    }
    for (const [node, card] of this.by) card.classList.toggle("hit", hits.includes(node));
  }

  /** Choose a node, and bring it into view. */
  show(node: number): void {
    this.state.chooseNode(node);
    const one = this.placed.find(({ data }) => data.node === node);
    if (!one) return;
    const { width, height } = this.port.getBoundingClientRect();
    const k = 0.9;
    this.moveTo(width / 2 - one.x * k, height / 2 - (one.y + 40) * k, k);
  }

  private key(event: KeyboardEvent): void {
    const { state } = this;
    const focused = Number((event.target as Element).closest<HTMLElement>(".card")?.dataset["node"]);
    if (focused !== state.node) state.chooseNode(focused);
    const { children } = state.nodes[state.node]!;
    const parent = state.parent(state.node);
    const siblings = parent < 0 ? [0] : state.nodes[parent]!.children;
    const place = siblings.indexOf(state.node);
    const to: Record<string, number | undefined> = {
      ArrowDown: children[0], ArrowUp: parent < 0 ? undefined : parent,
      ArrowLeft: siblings[place - 1], ArrowRight: siblings[place + 1], Home: 0,
    };
    if (event.key === " " || event.key === "Enter") {
      if (children.length) state.fold(state.node, !state.folded[state.tree]!.has(state.node));
    } else if (to[event.key] !== undefined) {
      state.chooseNode(to[event.key]!);
      this.by.get(state.node)?.focus({ preventScroll: true });
      this.keepInView();
    } else if (!(event.key in to)) return;
    event.preventDefault();
  }

  private keepInView(): void {
    const card = this.by.get(this.state.node)?.getBoundingClientRect();
    const port = this.port.getBoundingClientRect();
    if (!card || (card.left >= port.left && card.right <= port.right && card.top >= port.top
      && card.bottom <= port.bottom)) return;
    this.show(this.state.node);
    this.by.get(this.state.node)?.focus({ preventScroll: true });
  }

  // --- zoom ------------------------------------------------------------------------------------

  private moveTo(x: number, y: number, k: number): void {
    this.zooming.transform(select<HTMLElement, unknown>(this.port),
      zoomIdentity.translate(x, y).scale(k));
  }

  private zoomBy(factor: number): void {
    this.zooming.scaleBy(select<HTMLElement, unknown>(this.port), factor);
  }

  /** Show the whole tree if it has not been seen yet. */
  ensureFitted(): void {
    if (!this.fitted) this.fit();
  }

  /** Make the picture as wide as a page of paper; where it would be too small, leave it out. */
  forPaper(paper: boolean): void {
    this.port.style.height = "";
    if (!paper) {
      this.fit();
      return;
    }
    const size = { width: parseFloat(this.stage.style.width), height: parseFloat(this.stage.style.height) };
    const k = Math.min(1, PAPER.width / size.width, PAPER.height / size.height);
    this.element.classList.toggle("too-wide", k < 0.25);
    this.port.style.height = `${Math.ceil(size.height * k)}px`;
    this.moveTo(0, 0, k);
  }

  /** Show the whole tree. */
  fit(): void {
    const { width, height } = this.port.getBoundingClientRect();
    if (!width || !height) return;
    this.fitted = true;
    const size = { width: parseFloat(this.stage.style.width), height: parseFloat(this.stage.style.height) };
    const k = Math.min(1.15, width / size.width, height / size.height);
    this.moveTo((width - size.width * k) / 2, Math.max(0, (height - size.height * k) / 2), k);
  }
}
