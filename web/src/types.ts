/** What obliqua/pages/reports.py writes into the page. */

/** One plane: a sum of terms beside a threshold. The lists have an entry for each term. */
export interface Plane {
  column: number[];
  coef: number[];
  standIn: (number | null)[];
  spread: (number | null)[];
  /** What levels count, by the place of the term; numbers have none. */
  tables: Record<string, number[]>;
  threshold: number;
  missing: "left" | "right" | null;
}

export type SplitKind = "hyperplane" | "levels";

/** A linear function that a leaf says. */
export interface Line {
  column: number[];
  coef: number[];
  standIn: (number | null)[];
  tables: Record<string, number[]>;
  intercept: number;
  low: number;
  high: number;
}

/** Rows of a node along its normal, in bins of equal width. */
export interface Histogram {
  /** On a scale on which rows that go left are to the left of the cut. */
  low: number;
  high: number;
  /** How many bins are to the left of the cut. */
  left: number;
  /** Rows in each bin by class; those of classes without rows are left out. Numbers: only "0". */
  sums: Record<string, number[]>;
  n: number;
  /** The mean of the numbers of the rows in each bin. */
  means: (number | null)[] | null;
  /** The names of bins, if they are levels or branches. */
  names: string[] | null;
}

/** The best axis-parallel split of a node's rows. */
export interface AxisSplit {
  kind: SplitKind;
  plane: Plane;
  question: string;
}

export interface NodeInfo {
  kind: "leaf" | "hyperplane" | "levels" | "machine";
  children: number[];
  planes: Plane[];
  /** What the node says, or would say as a leaf: shares, or numbers. */
  says: number[];
  /** The class that it chooses. */
  chooses: number;
  line: Line | null;
  /** Training rows and their weight; null where they are not known. */
  rows: number | null;
  weight: number | null;
  /** Of trees of classes: the weight of rows of other classes than the chosen one. */
  errors: number | null;
  /** Of trees of numbers: the standard deviation, or the error of the linear function. */
  sd: number | null;
  /** In words: what the node says. */
  answer: string;
  /** In words: the condition of each branch. */
  branches: string[];
  /** In words: the condition of the first branch, where there is little room. */
  short: string;
  /** In words: what levels count, and what stands in for missing values. */
  notes: string[];
  gain: number | null;
  axisGain: number | null;
  origin: string | null;
  /** What coefficients and threshold are divided by in the question. */
  divisor: number;
  histogram: Histogram | null;
  /** What each term of the first plane is multiplied with in the mean row of the node. */
  means: number[] | null;
  axis: AxisSplit | null;
}

export interface TreeInfo {
  /** Its number in the model. */
  number: number;
  nodes: NodeInfo[];
}

export interface Column {
  name: string;
  levels: string[] | null;
  others: boolean;
  /** Whether a tree asks about it, or might after an edit. */
  used: boolean;
  low: number | null;
  high: number | null;
  /** The middle value, or the most frequent level. */
  middle: number | null;
  whole: boolean;
  /** Whether some row misses it. */
  mayMiss: boolean;
}

/** Numbers as base64 of an array of one type. */
export interface Packed {
  type: "i1" | "i2" | "i4" | "f4" | "f8";
  data: string;
}

/** Rows that are embedded: the columns that trees use, by their numbers. */
export interface EmbeddedRows {
  n: number;
  columns: Record<string, Packed>;
  /** The number of the class, or the numbers of all outputs one row after another. */
  y: Packed | null;
  /** Which set each row is of, and its number there. */
  set: Packed;
  number: Packed;
}

export interface ClassFacts { n: number; recall: number | null; precision: number | null; f: number | null }
export interface CalibrationBin { said: number; seen: number; n: number }

export interface ClassMeasures {
  accuracy: number;
  balanced: number;
  macroF: number;
  logLoss: number;
  /** Rows whose own class got a share of 0. */
  zeroShares: number;
  /** Rows of a class, by the class that they were given. */
  matrix: number[][];
  classes: ClassFacts[];
  /** By class: what was said of rows, and how often it was so. */
  calibration: CalibrationBin[][];
}

export interface NumberMeasures {
  name: string;
  /** Null if the true numbers do not vary. */
  r2: number | null;
  rmse: number;
  mae: number;
  /** The mean of true minus predicted. */
  bias: number;
  /** Predicted (x) and true (y) numbers: counts in a grid between low and high. */
  low: number;
  high: number;
  bins: number;
  cells: [number, number, number][];
  /** True minus predicted: counts in bins; those further out are in the last ones. */
  residualLow: number;
  residualHigh: number;
  residuals: number[];
}

/** Rows that the model was judged on. */
export interface RowSet {
  name: "training" | "test";
  n: number;
  classes: ClassMeasures | null;
  numbers: NumberMeasures[] | null;
}

/** A leaf as a region: of all rows of its class, how many are here, and of those here, how many are. */
export interface Region {
  leaf: number;
  rule: string;
  answer: string;
  /** The class, if classes are learnt. */
  label: number | null;
  /** The number of rows, and their share of all; null where it is not known. */
  rows: number | null;
  share: number | null;
  coverage: number | null;
  density: number | null;
  /** Of numbers: mean and standard deviation. */
  mean: number | null;
  sd: number | null;
}

export interface Payload {
  title: string;
  writtenBy: string;
  facts: [string, string][];
  /** What a reader must know: what is not in the page, and why. */
  notes: string[];
  task: "classification" | "regression";
  /** Classes or outputs, for a person to read. */
  names: string[];
  /** The classes as JSON has them, for the file of edits. */
  labels: string[];
  columns: Column[];
  /** Whether trees know what to do with missing values. */
  takesMissing: boolean;
  colours: string[];
  ramp: string[];
  /** The numbers that the ends of the ramp stand for. */
  ends: [number, number];
  /** What splits are compared by, in words. */
  criterion: string;
  finish: string;
  start: number;
  nAnswers: number;
  /** How many trees the model has; those here may be fewer. */
  nTrees: number;
  trees: TreeInfo[];
  /** Whether rows have classes or numbers. */
  labelled: boolean;
  /** Whether what a leaf chooses can be changed by hand. */
  mayLabel: boolean;
  /** Whether questions can be changed. */
  maySplit: boolean;
  fingerprint: string;
  importances: number[] | null;
  /** Which set regions are counted on; training counts of the tree if there are no rows. */
  regionRows: string;
  regions: Region[][];
  sets: RowSet[];
  rows: EmbeddedRows | null;
}
