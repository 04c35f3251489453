/** What obliqua/export/javascript_model.js computes with: the same file as in exported modules. */

export interface RuntimeTerms {
  column: number[];
  coef: number[];
  standIn: (number | null)[];
  table: number[];
  tableStart: number[];
  tableSize: number[];
}

export interface RuntimeTree {
  kind: number[];
  child: number[];
  planes: number[];
  termsBegin: number[];
  threshold: number[];
  missing: number[];
  terms: RuntimeTerms;
  says: number[];
  chooses: number[];
  lines: {
    begin: number[]; terms: RuntimeTerms; intercept: number[]; low: number[]; high: number[];
  } | null;
}

/** A tree as the model has read it. */
export interface WalkedTree { child: Int32Array }

export interface Runtime {
  forest: WalkedTree[];
  branchOf(tree: WalkedTree, node: number, z: Float64Array): number;
  leavesOf(z: Float64Array): number[];
  answerOf(z: Float64Array, leaves: number[]): number[];
  chosenBy(z: Float64Array, leaves: number[]): number;
}
