/** What the model says of rows, before and after edits: all by the JavaScript of the export. */

import { makeModel } from "../../src/obliqua/export/javascript_model.js";
import type { Runtime, RuntimeTerms, RuntimeTree } from "./javascript_model";
import type { WorkNode } from "./edits";
import type { Line, Payload, Plane } from "./types";

const KINDS = { leaf: 0, hyperplane: 1, levels: 2, machine: 3 } as const;
const SIDES = { left: 1, right: 2 } as const;

/** Collects terms one after another. */
class Terms {
  readonly fields: RuntimeTerms = {
    column: [], coef: [], standIn: [], table: [], tableStart: [], tableSize: [],
  };

  add(plane: Plane | Line): void {
    const to = this.fields;
    plane.column.forEach((column, k) => {
      const table = plane.tables[k] ?? [];
      to.column.push(column);
      to.coef.push(plane.coef[k]!);
      to.standIn.push(plane.standIn[k]!);
      to.tableStart.push(to.table.length);
      to.tableSize.push(table.length);
      for (const entry of table) to.table.push(entry);
    });
  }

  get length(): number {
    return this.fields.column.length;
  }
}

/** A tree as the code of the export reads it. Nodes keep their numbers. */
export function runtimeTree(nodes: readonly WorkNode[]): RuntimeTree {
  const terms = new Terms();
  const made: RuntimeTree = {
    kind: [], child: [], planes: [0], termsBegin: [0], threshold: [], missing: [],
    terms: terms.fields, says: [], chooses: [], lines: null,
  };
  const lineTerms = new Terms();
  const lines = { begin: [0], terms: lineTerms.fields, intercept: [] as number[],
    low: [] as number[], high: [] as number[] };
  for (const node of nodes) {
    made.kind.push(KINDS[node.kind]);
    made.child.push(node.kind === "leaf" ? -1 - made.chooses.length : node.children[0]!);
    for (const plane of node.planes) {
      terms.add(plane);
      made.termsBegin.push(terms.length);
      made.threshold.push(plane.threshold);
      made.missing.push(plane.missing === null ? 0 : SIDES[plane.missing]);
    }
    made.planes.push(made.threshold.length);
    if (node.kind !== "leaf") continue;
    made.says.push(...node.says);
    made.chooses.push(node.chooses);
    if (node.line) {
      lineTerms.add(node.line);
      lines.begin.push(lineTerms.length);
      lines.intercept.push(node.line.intercept);
      lines.low.push(node.line.low);
      lines.high.push(node.line.high);
    }
  }
  if (nodes[0]!.line) made.lines = lines;
  return made;
}

/** What is said of a row. */
export interface Answer {
  /** The node that the row reaches in each tree. */
  leaves: number[];
  /** Shares of classes, or numbers; none if there is no answer. */
  numbers: number[];
  /** The number of the class. */
  chosen: number;
  /** Why there is no answer: a value is missing, and nothing stands in for it. */
  trouble: string | null;
}

/** A split on the way of a row. */
export interface Step {
  node: number;
  branch: number;
  /** Whether the row goes to a side because it misses a value. */
  aside: boolean;
  /** Of a hyperplane: its value, and what each term has added. */
  value: number;
  terms: { column: number; value: number; added: number }[];
}

/** A model with its trees as they are after some edits. */
export class Answers {
  readonly runtime: Runtime;
  /** Which of the page's trees the answers are of: all, or the one that is shown. */
  readonly trees: readonly number[];

  constructor(private readonly page: Payload, private readonly work: readonly WorkNode[][],
    shown: number) {
    const whole = page.nTrees === page.trees.length;
    this.trees = whole ? work.map((_, place) => place) : [shown];
    this.runtime = makeModel({
      columns: page.columns,
      classes: page.task === "classification" ? page.names : [],
      finish: whole || ["sum", "log_odds"].includes(page.finish) ? page.finish : "leaf",
      start: page.start,
      nAnswers: page.nAnswers,
      trees: this.trees.map((place) => runtimeTree(work[place]!)),
      tests: [],
    });
  }

  /** What is said of a row. */
  of(z: Float64Array): Answer {
    let leaves: number[] = [];
    try {
      leaves = this.runtime.leavesOf(z);
      const chosen = this.page.task === "classification" ? this.runtime.chosenBy(z, leaves) : 0;
      return { leaves, numbers: this.runtime.answerOf(z, leaves), chosen, trouble: null };
    } catch (error) {
      const trouble = error instanceof Error ? error.message : String(error);
      return { leaves, numbers: [], chosen: -1, trouble };
    }
  }

  /** The splits on the way of a row in one of the page's trees, and the node where it ends. */
  way(place: number, z: Float64Array): { steps: Step[]; end: number; trouble: string | null } {
    const at = this.trees.indexOf(place);
    const tree = at < 0 ? undefined : this.runtime.forest[at];
    const nodes = this.work[place]!;
    const steps: Step[] = [];
    let node = 0;
    while (tree && nodes[node]!.kind !== "leaf") {
      try {
        const branch = this.runtime.branchOf(tree, node, z);
        steps.push({ node, branch, ...valueAt(nodes[node]!, z) });
        node = nodes[node]!.children[branch]!;
      } catch (error) {
        return { steps, end: node, trouble: error instanceof Error ? error.message : "" };
      }
    }
    return { steps, end: node, trouble: null };
  }
}

/** What a term is multiplied with in a row. */
export function readTerm(plane: Plane, k: number, z: Float64Array): number {
  const entry = z[plane.column[k]!]!;
  const table = plane.tables[k];
  if (Number.isNaN(entry)) return plane.standIn[k] ?? NaN;
  if (!table) return entry;
  return entry >= 0 && entry < table.length ? table[Math.trunc(entry)]! : 0;
}

function valueAt(node: WorkNode, z: Float64Array): Omit<Step, "node" | "branch"> {
  const [plane] = node.planes;
  if (node.kind !== "hyperplane" || !plane) return { aside: false, value: NaN, terms: [] };
  const aside = plane.missing !== null && plane.column.some((c) => Number.isNaN(z[c]!));
  let value = 0;
  const terms = plane.column.map((column, k) => {
    const read = readTerm(plane, k, z);
    const added = plane.coef[k]! * read;
    value += added;
    return { column, value: read, added };
  });
  return { aside, value, terms };
}

// --- what would change the answer --------------------------------------------------------------

/** The smallest change of one feature that changes the answer. */
export interface Flip {
  column: number;
  /** The value that it would have; NaN if it were missing. */
  value: number;
  answer: Answer;
}

/** Whether two answers differ: in class, or in numbers, or where functions are said in the leaf. */
function differ(page: Payload, a: Answer, b: Answer): boolean {
  if (a.trouble !== null || b.trouble !== null) return false;
  if (page.task === "classification") return a.chosen !== b.chosen;
  if (page.trees.some((tree) => tree.nodes[0]!.line)) {
    return a.leaves.some((leaf, tree) => leaf !== b.leaves[tree]);
  }
  return a.numbers.some((value, place) => value !== b.numbers[place]);
}

/** Values of a number at which the row, otherwise unchanged, meets a split. */
function meetings(work: readonly WorkNode[], column: number, z: Float64Array): number[] {
  const found: number[] = [];
  for (const node of work) {
    if (!node.there || node.kind === "leaf" || node.kind === "levels") continue;
    const sums = node.planes.map((plane) => {
      let rest = -plane.threshold;
      let slope = 0;
      plane.column.forEach((other, k) => {
        if (other === column) slope += plane.coef[k]!;
        else rest += plane.coef[k]! * readTerm(plane, k, z);
      });
      return [slope, rest] as const;
    });
    if (node.kind === "hyperplane") sums.push([0, 0]);
    for (let a = 0; a < sums.length; a++) {
      for (let b = a + 1; b < sums.length; b++) {
        const at = (sums[b]![1] - sums[a]![1]) / (sums[a]![0] - sums[b]![0]);
        if (Number.isFinite(at)) found.push(at);
      }
    }
  }
  return found;
}

/** For each feature that is used: the smallest change of it alone that changes the answer. */
export function flips(page: Payload, work: readonly WorkNode[][], answers: Answers,
  z: Float64Array): Flip[] {
  const now = answers.of(z);
  const found: Flip[] = [];
  if (now.trouble !== null) return found;
  const row = Float64Array.from(z);
  const tried = (column: number, value: number): Flip | null => {
    row[column] = value;
    const answer = answers.of(row);
    row[column] = z[column]!;
    return differ(page, now, answer) ? { column, value, answer } : null;
  };
  page.columns.forEach(({ levels, used, whole, middle }, column) => {
    if (!used) return;
    const value = z[column]!;
    if (levels) {
      for (let code = 0; code < levels.length; code++) {
        const flip = code === value ? null : tried(column, code);
        if (flip) found.push(flip);
      }
    } else {
      // A value that is missing now may become any: one near the middle is looked for.
      const from = Number.isNaN(value) ? middle ?? 0 : value;
      const meets = answers.trees.flatMap((place) => meetings(work[place]!, column, z));
      const nearest = [1, -1].map((side) => firstBeyond([from, ...meets], from, side, whole,
        (at) => (at === value ? null : tried(column, at)))).filter((flip) => flip !== null);
      nearest.sort((a, b) => Math.abs(a.value - from) - Math.abs(b.value - from));
      if (nearest[0]) found.push(nearest[0]);
    }
  });
  return found;
}

/** Go to one side, from meeting to meeting, until the answer is another one. */
function firstBeyond(meets: number[], value: number, side: number, whole: boolean,
  tried: (at: number) => Flip | null): Flip | null {
  const ahead = [...new Set(meets.filter((at) => side * (at - value) >= 0))]
    .sort((a, b) => side * (a - b));
  for (const at of ahead) {
    if (whole) {
      const next = side > 0 ? Math.ceil(at) : Math.floor(at);
      const flip = tried(next) ?? tried(next + side);
      if (flip) return flip;
      continue;
    }
    // The plane itself belongs to its left side, and rounding may put it elsewhere.
    const size = Math.max(Math.abs(at), Math.abs(value), Number.MIN_VALUE * 2 ** 60);
    for (const ulps of [0, 1, 16, 1024, 2 ** 20]) {
      const beyond = at + side * ulps * size * 2 ** -52;
      const flip = tried(beyond);
      if (flip) return flip;
    }
  }
  return null;
}
