/** What the page is showing, and who wants to know when that changes. */

import { Answers, type Answer } from "./answers";
import { editedNodes, flawOf, type Edit, type WorkNode } from "./edits";
import type { NodeInfo, Packed, Payload } from "./types";

export type Topic = "tree" | "node" | "row" | "edits" | "folds";

/** The embedded rows, ready to be walked. */
export interface Rows {
  n: number;
  y: Float64Array | null;
  set: Float64Array;
  number: Float64Array;
  /** A row as trees walk it: NaN in columns that no tree asks about. */
  at(row: number): Float64Array;
}

interface Listener { does: () => void; element: HTMLElement | undefined }

/** How a model fares on the embedded rows of a set. */
export interface Fared {
  set: string;
  n: number;
  /** Accuracy, or R2 of the first output. */
  before: number;
  after: number;
}

const READERS: Record<Packed["type"], (bytes: DataView, at: number) => number> = {
  i1: (bytes, at) => bytes.getInt8(at),
  i2: (bytes, at) => bytes.getInt16(2 * at, true),
  i4: (bytes, at) => bytes.getInt32(4 * at, true),
  f4: (bytes, at) => bytes.getFloat32(4 * at, true),
  f8: (bytes, at) => bytes.getFloat64(8 * at, true),
};

function unpacked({ type, data }: Packed): Float64Array {
  const text = atob(data);
  const bytes = new DataView(Uint8Array.from(text, (c) => c.charCodeAt(0)).buffer);
  const n = bytes.byteLength / Number(type[1]);
  return Float64Array.from({ length: n }, (_, at) => READERS[type](bytes, at));
}

function rowsOf(page: Payload): Rows | null {
  if (!page.rows) return null;
  const { n, columns, y, set, number } = page.rows;
  const known = Object.entries(columns).map(
    ([column, packed]) => [Number(column), unpacked(packed)] as const);
  return {
    n, y: y && unpacked(y), set: unpacked(set), number: unpacked(number),
    at(row) {
      const z = new Float64Array(page.columns.length).fill(NaN);
      for (const [column, values] of known) z[column] = values[row]!;
      return z;
    },
  };
}

const NOTHING: Partial<NodeInfo> = {
  branches: [], short: "", notes: [], gain: null, axisGain: null, origin: null, divisor: 1, histogram: null,
  means: null, axis: null,
};

export class State {
  readonly rows: Rows | null;
  /** The place of the shown tree among those on the page. */
  tree = 0;
  /** The chosen node. */
  node = 0;
  /** The row that is tried. */
  row: Float64Array | null = null;
  rowName = "";
  /** Its true class, or numbers, if it is one of the embedded rows as it is. */
  truth: number[] | null = null;
  /** Nodes whose subtrees are folded, by tree. */
  readonly folded: Set<number>[];
  done: Edit[][] = [];
  undone: Edit[][] = [];
  /** Nodes of all trees after all edits. */
  work: WorkNode[][] = [];
  /** What the model says after all edits, and what it said before any. */
  answers!: Answers;
  private original!: Answers;
  private readonly listeners = new Map<Topic, Listener[]>();
  private readonly waiting = new Set<Listener>();
  private readonly kept = new Map<string, unknown>();
  /** What the model said of the embedded rows before any edit. */
  private before: Answer[] | null = null;
  /** The number of each node's parent, by tree; -1 of the root's. Edits change none. */
  private readonly parents: number[][];

  constructor(readonly page: Payload) {
    for (const tree of page.trees) {
      tree.nodes = tree.nodes.map((node) => ({ ...NOTHING, ...node }));
    }
    this.rows = rowsOf(page);
    this.folded = page.trees.map(() => new Set());
    this.parents = page.trees.map(({ nodes }) => {
      const parents = nodes.map(() => -1);
      nodes.forEach(({ children }, node) => { for (const child of children) parents[child] = node; });
      return parents;
    });
    this.work = page.trees.map((tree) => editedNodes(tree, []));
    this.original = new Answers(page, this.work, this.tree);
    this.answers = this.original;
  }

  /** The nodes of the shown tree. */
  get nodes(): WorkNode[] {
    return this.work[this.tree]!;
  }

  get edits(): Edit[] {
    return this.done.flat();
  }

  /** Have something done when a topic changes; for an element, not before it is seen. */
  on(topics: Topic[], does: () => void, element?: HTMLElement): void {
    const listener = { does, element };
    for (const topic of topics) {
      this.listeners.set(topic, [...this.listeners.get(topic) ?? [], listener]);
    }
  }

  private emit(...topics: Topic[]): void {
    for (const topic of topics) {
      for (const listener of this.listeners.get(topic) ?? []) this.waiting.add(listener);
    }
    this.catchUp();
  }

  /** Do what has waited for its element to be seen; with `all`, whatever waits. */
  catchUp(all = false): void {
    for (const listener of this.waiting) {
      if (!all && listener.element && listener.element.offsetParent === null) continue;
      this.waiting.delete(listener);
      listener.does();
    }
  }

  chooseTree(place: number): void {
    this.tree = place;
    this.node = 0;
    if (this.page.nTrees !== this.page.trees.length) this.renew();
    this.emit("tree", "node", "row", "edits");
  }

  /** Choose a node, or the one above it that is a leaf now. */
  chooseNode(wanted: number): void {
    let node = wanted;
    while (!this.nodes[node]!.there) node = this.parent(node);
    let unfolded = false;
    for (let above = this.parent(node); above >= 0; above = this.parent(above)) {
      unfolded = this.folded[this.tree]!.delete(above) || unfolded;
    }
    this.node = node;
    if (unfolded) this.emit("folds", "node");
    else this.emit("node");
  }

  /** The number of a node's parent; -1 of the root's. */
  parent(node: number): number {
    return this.parents[this.tree]![node]!;
  }

  fold(node: number, folded: boolean): void {
    if (folded) this.folded[this.tree]!.add(node);
    else this.folded[this.tree]!.delete(node);
    this.emit("folds");
  }

  foldAll(nodes: Iterable<number>): void {
    this.folded[this.tree]!.clear();
    for (const node of nodes) this.folded[this.tree]!.add(node);
    this.emit("folds");
  }

  tryRow(z: Float64Array | null, name = "", truth: number[] | null = null): void {
    this.row = z;
    this.rowName = name;
    this.truth = truth;
    this.emit("row");
  }

  // --- edits -----------------------------------------------------------------------------------

  /** Make edits, all of them or none: one step to be taken back. */
  edit(edits: Edit[]): void {
    const all = this.edits;
    for (const edit of edits) {
      const tree = this.page.trees.find(({ number }) => number === edit.tree)!;
      const flaw = flawOf(this.page, editedNodes(tree, all), edit);
      if (flaw !== null) throw new Error(`This edit cannot be made: ${flaw}.`);
      all.push(edit);
    }
    if (!edits.length) return;
    this.done.push(edits);
    this.undone = [];
    this.changed();
  }

  undo(): void {
    const last = this.done.pop();
    if (!last) return;
    this.undone.push(last);
    this.changed();
  }

  redo(): void {
    const next = this.undone.pop();
    if (!next) return;
    this.done.push(next);
    this.changed();
  }

  /** Show what an edit would do, without keeping it: while something is dragged. */
  preview(edit: Edit | null): void {
    this.changed(edit === null ? [] : [edit]);
  }

  private changed(more: Edit[] = []): void {
    this.renew(more);
    this.emit("edits", "row");
  }

  private renew(more: Edit[] = []): void {
    const edits = [...this.edits, ...more];
    this.kept.clear();
    this.work = this.page.trees.map((tree) => editedNodes(tree, edits));
    if (this.page.nTrees !== this.page.trees.length) {
      const untouched = this.page.trees.map((tree) => editedNodes(tree, []));
      this.original = new Answers(this.page, untouched, this.tree);
      this.before = null;
    }
    this.answers = edits.length ? new Answers(this.page, this.work, this.tree) : this.original;
    if (!this.nodes[this.node]?.there) this.node = 0;
  }

  /** What was computed since the last edit, or is computed now. */
  private once<T>(name: string, make: () => T): T {
    if (!this.kept.has(name)) this.kept.set(name, make());
    return this.kept.get(name) as T;
  }

  // --- embedded rows ---------------------------------------------------------------------------

  private said(answers: Answers): Answer[] {
    const rows = this.rows;
    return rows ? Array.from({ length: rows.n }, (_, row) => answers.of(rows.at(row))) : [];
  }

  /** How the model fares on the embedded rows, before and after the edits. */
  fared(): Fared[] {
    return this.once("fared", () => {
      const { rows, page } = this;
      if (!rows?.y) return [];
      const before = this.before ??= this.said(this.original);
      const after = this.answers === this.original ? before : this.said(this.answers);
      return page.sets.map((set, number) => {
        const which = Array.from(rows.set, (_, row) => row).filter((row) => rows.set[row] === number);
        return { set: set.name, n: which.length, before: this.score(before, which),
          after: this.score(after, which) };
      }).filter(({ n }) => n > 0);
    });
  }

  private score(said: Answer[], which: number[]): number {
    const y = this.rows!.y!;
    if (this.page.task === "classification") {
      return which.filter((row) => said[row]!.chosen === y[row]).length / which.length;
    }
    const n = this.page.names.length;
    const mean = which.reduce((sum, row) => sum + y[row * n]!, 0) / which.length;
    let error = 0;
    let whole = 0;
    for (const row of which) {
      error += (y[row * n]! - (said[row]!.numbers[0] ?? NaN)) ** 2;
      whole += (y[row * n]! - mean) ** 2;
    }
    return whole > 0 ? 1 - error / whole : NaN;
  }

  /** The embedded rows that come to each node of the shown tree. */
  passing(): number[][] {
    return this.once(`passing ${this.tree}`, () => {
      const found: number[][] = this.nodes.map(() => []);
      for (let row = 0; row < (this.rows?.n ?? 0); row++) {
        const { steps, end } = this.answers.way(this.tree, this.rows!.at(row));
        for (const { node } of steps) found[node]!.push(row);
        found[end]!.push(row);
      }
      return found;
    });
  }
}
