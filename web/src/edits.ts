/** Edits of trees: what they are, what they make of a tree, and the file that keeps them. */

import type { NodeInfo, Payload, Plane, SplitKind, TreeInfo } from "./types";

/** One edit. Nodes have the numbers that they have in the model, whatever was edited before. */
export type Edit = { tree: number; node: number; words: string } & (
  | { edit: "split"; kind: SplitKind; plane: Plane }
  | { edit: "collapse" }
  | { edit: "label"; chosen: number | null; value: number[] | null }
);

/** A node after edits. */
export interface WorkNode extends NodeInfo {
  /** Whether the node itself was edited. */
  edited: boolean;
  /** Whether other rows may come here than those that the tree has counted. */
  moved: boolean;
  /** Whether it can be reached. */
  there: boolean;
}

/** Make the nodes of a tree after edits. Children keep their places. */
export function editedNodes(tree: TreeInfo, edits: readonly Edit[]): WorkNode[] {
  const nodes: WorkNode[] = tree.nodes.map((node) => (
    { ...node, edited: false, moved: false, there: true }));
  for (const edit of edits) {
    if (edit.tree !== tree.number) continue;
    const node = nodes[edit.node]!;
    node.edited = true;
    if (edit.edit === "split") {
      node.kind = edit.kind;
      node.divisor = sameNormal(tree.nodes[edit.node]!, edit.kind, edit.plane)
        ? tree.nodes[edit.node]!.divisor : divisorOf(edit.plane);
      node.planes = [edit.plane];
    } else if (edit.edit === "collapse") {
      node.kind = "leaf";
      node.children = [];
      node.planes = [];
    } else if (edit.chosen !== null) {
      node.chooses = edit.chosen;
      node.errors = node.weight === null ? null : node.weight * (1 - node.says[edit.chosen]!);
    } else if (edit.value !== null) {
      node.says = edit.value;
      node.sd = null;
      const [value] = edit.value;
      if (node.line) {
        node.line = { column: [], coef: [], standIn: [], tables: {},
          intercept: value!, low: value!, high: value! };
      }
    }
  }
  marked(nodes);
  return nodes;
}

/** Whether a plane has the normal that a node had in the model: only its threshold may differ. */
export function sameNormal(node: NodeInfo, kind: string, plane: Plane): boolean {
  const [was] = node.planes;
  return was !== undefined && node.kind === kind && was.coef.length === plane.coef.length
    && was.column.every((column, k) => column === plane.column[k])
    && was.coef.every((coef, k) => coef === plane.coef[k])
    && JSON.stringify(was.tables) === JSON.stringify(plane.tables);
}

/** Mark which nodes can be reached, and by other rows than before. */
function marked(nodes: WorkNode[]): void {
  nodes.forEach((node, number) => { node.there = number === 0; });
  for (const node of nodes) { // parents stand before their children
    if (!node.there) continue;
    for (const child of node.children) {
      const below = nodes[child]!;
      below.there = true;
      below.moved = node.moved || (node.edited && node.kind !== "leaf");
    }
  }
}

/** Why an edit cannot be made; null if it can. */
export function flawOf(page: Payload, nodes: readonly WorkNode[], edit: Edit): string | null {
  const node = nodes[edit.node];
  if (!node?.there) return `there is no node ${edit.node}, or it is below one that is a leaf now`;
  if (edit.edit === "label") {
    if (!page.mayLabel) return "this model puts together the shares of several trees";
    if ((edit.chosen !== null) !== (page.task === "classification")) return "it is of another task";
    return node.kind === "leaf" ? null : `node ${edit.node} is no leaf`;
  }
  if (node.kind === "leaf") return `node ${edit.node} is a leaf`;
  if (edit.edit === "collapse") return null;
  if (!page.maySplit) return "this model adds up trees of classes";
  if (node.children.length !== 2) return `node ${edit.node} has ${node.children.length} branches`;
  const numbers = [edit.plane.threshold, ...edit.plane.coef, ...Object.values(edit.plane.tables).flat()];
  return numbers.every(Number.isFinite) ? null : "a number in it is too large";
}

/** Whether a plane asks about a number, not about levels alone. */
export function hasNumbers(plane: Plane): boolean {
  return plane.column.some((_, k) => !(k in plane.tables));
}

// --- what can be done with a split -------------------------------------------------------------

/** The sizes by which terms move rows, where spreads are known; else those of coefficients. */
export function effects(plane: Plane): number[] {
  const known = plane.spread.every((spread) => spread !== null);
  return plane.coef.map((coef, k) => Math.abs(coef * (known ? plane.spread[k]! : 1)));
}

/** The places of terms, the one that moves rows most first. */
export function ranked(plane: Plane): number[] {
  const size = effects(plane);
  return size.map((_, k) => k).sort((a, b) => size[b]! - size[a]! || a - b);
}

/** What makes the leading coefficient of a question 1. */
export function divisorOf(plane: Plane): number {
  const order = ranked(plane);
  const lead = order.find((k) => !(k in plane.tables) && plane.coef[k] !== 0);
  if (lead !== undefined) return plane.coef[lead]!;
  const [first] = order;
  if (first === undefined || !(first in plane.tables)) return 1;
  const largest = Math.max(...plane.tables[first]!.map(Math.abs)) * Math.abs(plane.coef[first]!);
  return largest > 0 && Number.isFinite(largest) ? largest : 1;
}

const rounded = (value: number, digits: number): number => Number(value.toPrecision(digits));

/** A plane whose numbers, as its question shows them, have so many digits. */
export function roundedPlane(plane: Plane, divisor: number, digits: number): Plane {
  const sign = divisor < 0 ? -1 : 1;
  const made: Plane = { ...plane, coef: [], standIn: [], spread: [], tables: {} };
  plane.coef.forEach((coef, k) => {
    const table = plane.tables[k];
    if (table) { // what levels count is rounded, not what it is multiplied with
      const factor = coef / Math.abs(divisor);
      const scaled = (value: number | null | undefined): number | null => (
        value === null || value === undefined ? null : rounded(value * factor, digits));
      made.tables[made.coef.length] = table.map((entry) => scaled(entry)!);
      made.coef.push(1);
      made.standIn.push(scaled(plane.standIn[k]));
      const spread = plane.spread[k];
      made.spread.push(typeof spread === "number" ? Math.abs(factor) * spread : null);
    } else {
      made.coef.push(sign * rounded(coef / divisor, digits));
      made.standIn.push(plane.standIn[k]!);
      made.spread.push(plane.spread[k]!);
    }
  });
  made.threshold = sign * rounded(plane.threshold / divisor, digits);
  return made;
}

/** A plane without one of its terms; the threshold takes over what it counts for a mean row. */
export function withoutTerm(plane: Plane, place: number, mean: number | null): Plane {
  const keep = plane.coef.map((_, k) => k).filter((k) => k !== place);
  const middle = mean ?? plane.standIn[place] ?? 0;
  const tables: Record<string, number[]> = {};
  keep.forEach((k, at) => { if (plane.tables[k]) tables[at] = plane.tables[k]; });
  return {
    column: keep.map((k) => plane.column[k]!),
    coef: keep.map((k) => plane.coef[k]!),
    standIn: keep.map((k) => plane.standIn[k]!),
    spread: keep.map((k) => plane.spread[k]!),
    tables,
    threshold: plane.threshold - plane.coef[place]! * middle,
    missing: plane.missing,
  };
}

// --- the file ----------------------------------------------------------------------------------

interface SavedTerm {
  column: number | string; coefficient: number; stand_in: number | null; spread: number | null;
  table?: number[];
}
interface SavedPlane { terms: SavedTerm[]; threshold: number; missing: "left" | "right" | null }

function savedPlane(plane: Plane): SavedPlane {
  const terms = plane.column.map((column, k): SavedTerm => ({
    column, coefficient: plane.coef[k]!, stand_in: plane.standIn[k]!, spread: plane.spread[k]!,
    ...(plane.tables[k] ? { table: plane.tables[k] } : {}),
  }));
  return { terms, threshold: plane.threshold, missing: plane.missing };
}

const LABEL = "\u0000label";

/** The text of the file that `obliqua edit` takes. */
export function savedEdits(page: Payload, edits: readonly Edit[]): string {
  const list = edits.map((edit) => {
    const { tree, node, words } = edit;
    if (edit.edit === "split") {
      return { tree, node, edit: "split", kind: edit.kind, plane: savedPlane(edit.plane), words };
    }
    if (edit.edit === "collapse") return { tree, node, edit: "collapse", words };
    const said = edit.chosen === null
      ? { value: edit.value!.length === 1 ? edit.value![0] : edit.value }
      : { class: `${LABEL}${edit.chosen}` };
    return { tree, node, edit: "label", ...said, words };
  });
  const text = JSON.stringify(
    { format: "obliqua edits", version: 1, model: page.fingerprint, edits: list }, null, 1);
  // Labels are written as the model has them: a whole number may be longer than JavaScript's.
  return text.replace(/"\\u0000label(\d+)"/g, (_, place) => page.labels[Number(place)]!);
}

/** Edits of the text of a file; throws if it is not one for this model. */
export function loadedEdits(page: Payload, text: string): Edit[] {
  let given: unknown;
  try {
    // A label that is a whole number may be longer than JavaScript's: its digits are compared.
    given = JSON.parse(text.replace(/"class":\s*(-?\d+)(?=\s*[,}])/g, '"class": {"digits": "$1"}'));
  } catch {
    throw new Error("The file is no JSON. Choose one that this page has saved.");
  }
  const file = given as { format?: unknown; version?: unknown; model?: unknown; edits?: unknown };
  if (typeof given !== "object" || given === null || file.format !== "obliqua edits"
    || !Array.isArray(file.edits)) {
    throw new Error("The file holds no edits. Choose one that this page has saved.");
  }
  if (file.version !== 1) throw new Error("The file is of a newer version than this page.");
  if (typeof file.model === "string" && file.model !== page.fingerprint) {
    throw new Error("The file has edits of another model.");
  }
  return file.edits.map((entry, number) => {
    try {
      return loadedEdit(page, entry as Record<string, unknown>);
    } catch (error) {
      const why = error instanceof Error ? error.message : "it is damaged";
      throw new Error(`Edit ${number + 1} of the file cannot be read: ${why}.`);
    }
  });
}

function loadedEdit(page: Payload, entry: Record<string, unknown>): Edit {
  const { tree = page.trees[0]!.number, node, words = "" } = entry as {
    tree?: number; node: number; words?: string };
  if (!Number.isInteger(node) || !page.trees.some((known) => known.number === tree)) {
    throw new Error("its tree or node is not here");
  }
  const at = { tree, node, words: String(words) };
  if (entry["edit"] === "collapse") return { ...at, edit: "collapse" };
  if (entry["edit"] === "label") {
    if ("class" in entry) {
      const given = entry["class"] as { digits?: string };
      const wanted = given.digits ?? JSON.stringify(given);
      const chosen = page.labels.findIndex((label) => label === wanted
        || JSON.stringify(JSON.parse(label)) === wanted);
      if (chosen < 0) throw new Error("its class is none of this model's");
      return { ...at, edit: "label", chosen, value: null };
    }
    const value = [entry["value"]].flat() as number[];
    if (value.length !== page.names.length || !value.every(Number.isFinite)) {
      throw new Error("its value is no number");
    }
    return { ...at, edit: "label", chosen: null, value };
  }
  const { terms, threshold, missing } = entry["plane"] as SavedPlane;
  if (entry["edit"] !== "split" || !terms.length || !Number.isFinite(threshold)) {
    throw new Error("it is of a kind that this page does not know");
  }
  const tables: Record<string, number[]> = {};
  const columns = terms.map(({ column, table }, k) => {
    const place = typeof column === "number" ? column : page.columns.findIndex(({ name }) => name === column);
    if (!page.columns[place]?.used) throw new Error("a column is not on this page");
    if (table) tables[k] = table;
    return place;
  });
  const plane: Plane = {
    column: columns,
    coef: terms.map((term) => term.coefficient),
    standIn: terms.map((term) => term.stand_in ?? null),
    spread: terms.map((term) => term.spread ?? null),
    tables, threshold, missing,
  };
  return { ...at, edit: "split", kind: entry["kind"] === "levels" ? "levels" : "hyperplane", plane };
}
