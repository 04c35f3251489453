/**
 * A model of its data. It does the operations of the page "What an exported tree computes", in
 * their order: JavaScript's numbers are the doubles that the library computes with, so that leaves
 * and answers are the same.
 */
export function makeModel({
  columns: COLUMNS, classes: CLASSES, finish: FINISH, start: START, nAnswers: N_ANSWERS,
  trees: TREES, tests: TESTS,
}) {
  const columns = Object.freeze(COLUMNS.map((column) => column.name));
  const classes = Object.freeze(CLASSES);

  function predict(row) {
    const z = entriesOf(row);
    const leaves = leavesOf(z);
    if (classes.length === 0) {
      const numbers = answerOf(z, leaves);
      return numbers.length === 1 ? numbers[0] : numbers;
    }
    return classes[chosenBy(z, leaves)];
  }

  function predictProba(row) {
    if (classes.length === 0) {
      throw new Error("This model says numbers and has no classes. Call predict.");
    }
    const z = entriesOf(row);
    return answerOf(z, leavesOf(z));
  }

  function apply(row) {
    return leavesOf(entriesOf(row));
  }

  function selfTest() {
    // The exponential function is the one thing that is not the same everywhere to the last bit.
    const off = FINISH === "log_odds" ? 1e-14 : 0;
    TESTS.forEach(([row, leaves, answer, chosen], number) => {
      const object = Object.create(null);
      columns.forEach((name, place) => { object[name] = row[place]; });
      for (const given of NAMES_DIFFER ? [row, object] : [row]) {
        const z = entriesOf(given);
        const reached = leavesOf(z);
        const said = answerOf(z, reached);
        const right = reached.every((leaf, tree) => leaf === leaves[tree])
          && said.length === answer.length
          && said.every((value, place) => isNear(value, answer[place], off))
          && (classes.length === 0 || chosenBy(z, reached) === chosen);
        if (!right) {
          throw new Error(`Row ${number} of the self-test reaches the leaves ${reached} and gets `
            + `${said}; it must reach ${leaves} and get ${answer}.`);
        }
      }
    });
    return TESTS.length;
  }

  /** Whether two numbers differ by no more than `off`. */
  function isNear(value, other, off) {
    return value === other || Math.abs(value - other) <= off;
  }

  // --- rows -------------------------------------------------------------------------------------

  /** A level as it is compared: true is 1, and so is 1n. "1" is not. */
  function keyOf(level) {
    if (typeof level === "boolean") return Number(level);
    if (typeof level === "bigint") {
      const number = Number(level);
      return Number.isFinite(number) && BigInt(number) === level ? number : level;
    }
    return level;
  }

  const NAMES_DIFFER = new Set(columns).size === columns.length;

  /** By column: the code of each level; null if the column is one of numbers. */
  const CODES = COLUMNS.map(({ levels }) =>
    levels && new Map(levels.map((level, code) => [keyOf(level), code])));

  /** By column: the only type that its levels have, if there is one. */
  const LEVEL_TYPES = COLUMNS.map(({ levels, others }) => {
    const named = others ? levels.slice(0, -1) : levels ?? [];
    const types = new Set(named.map((level) => (typeof level === "string" ? "text" : "numbers")));
    return types.size === 1 ? [...types][0] : null;
  });

  const isOwn = Object.prototype.hasOwnProperty;

  /** The numbers of a row that trees walk: codes of levels, and NaN for what is missing. */
  function entriesOf(row) {
    const n = columns.length;
    const z = new Float64Array(n);
    if (Array.isArray(row) || ArrayBuffer.isView(row)) {
      if (row.length !== n) {
        throw new RangeError(`A row that is an array has ${n} entries, one for each column; got `
          + `${row.length}.`);
      }
      for (let place = 0; place < n; place++) z[place] = entryOf(place, row[place]);
      return z;
    }
    if (typeof row !== "object" || row === null) {
      throw new TypeError(`A row is an object or an array; got ${shown(row)}.`);
    }
    if (!NAMES_DIFFER) {
      throw new TypeError("Columns of this model have the same name. Give rows as arrays.");
    }
    for (let place = 0; place < n; place++) {
      const name = columns[place];
      if (!isOwn.call(row, name)) {
        throw new TypeError(`The row has no ${JSON.stringify(name)}. Give null if it is missing.`);
      }
      z[place] = entryOf(place, row[name]);
    }
    return z;
  }

  /** The number of one entry of a row. */
  function entryOf(place, value) {
    if (value === null || value === undefined || Number.isNaN(value)) return NaN;
    const type = typeof value;
    const codes = CODES[place];
    if (codes === null) {
      if (type === "number") return value;
      if (type === "boolean" || type === "bigint") return Number(value);
      throw new TypeError(`Column ${JSON.stringify(columns[place])} is one of numbers; got `
        + `${shown(value)}. Give a number, or null if it is missing.`);
    }
    if (!["string", "number", "boolean", "bigint"].includes(type)) {
      throw new TypeError(`Column ${JSON.stringify(columns[place])} takes text, a number, true or `
        + `false; got ${shown(value)}.`);
    }
    const wanted = LEVEL_TYPES[place];
    if (wanted !== null && (type === "string") !== (wanted === "text")) {
      throw new TypeError(`The levels of column ${JSON.stringify(columns[place])} are ${wanted}; `
        + `got ${shown(value)}, which would be another level.`);
    }
    const code = codes.get(keyOf(value));
    if (code !== undefined) return code;
    return COLUMNS[place].others ? COLUMNS[place].levels.length - 1 : -1;
  }

  /** A value as a message shows it. */
  function shown(value) {
    if (typeof value === "string") return `the text ${JSON.stringify(value.slice(0, 40))}`;
    if (typeof value === "object") return "an object";
    return `${typeof value} ${String(value).slice(0, 40)}`;
  }

  // --- trees ------------------------------------------------------------------------------------

  /** A tree of its text, or of its fields. Arrays of one type are read faster; null is NaN. */
  function treeOf(given) {
    const { kind, child, planes, termsBegin, threshold, missing, terms, says, chooses, lines } =
      typeof given === "string" ? JSON.parse(given) : given;
    return {
      kind: Int32Array.from(kind),
      child: Int32Array.from(child),
      planes: Int32Array.from(planes),
      termsBegin: Int32Array.from(termsBegin),
      threshold: Float64Array.from(threshold),
      missing: missing ? Int32Array.from(missing) : new Int32Array(threshold.length),
      terms: termsOf(terms),
      says: Float64Array.from(says),
      chooses: Int32Array.from(chooses),
      lines: lines ? { ...lines, terms: termsOf(lines.terms) } : null,
    };
  }

  /** The terms of splits, or of linear functions. */
  function termsOf({ column, coef, standIn, table, tableStart, tableSize }) {
    return {
      column: Int32Array.from(column),
      coef: Float64Array.from(coef),
      standIn: Float64Array.from(standIn, (value) => value ?? NaN),
      table: Float64Array.from(table),
      // Without any table there are none of these two.
      tableStart: tableStart ? Int32Array.from(tableStart) : new Int32Array(column.length),
      tableSize: tableSize ? Int32Array.from(tableSize) : new Int32Array(column.length),
    };
  }

  const FOREST = TREES.map(treeOf);
  TREES.length = 0; // texts are not needed any more

  /** The leaf that a row reaches in each tree. */
  function leavesOf(z) {
    return FOREST.map((tree) => {
      let node = 0;
      while (tree.child[node] >= 0) node = tree.child[node] + branchOf(tree, node, z);
      return node;
    });
  }

  const HYPERPLANE = 1;
  const LEVELS = 2;
  const SMALL = 2 ** -200; // keeps terms finite where they overflow

  /** The branch that a row takes at a node. */
  function branchOf(tree, node, z) {
    const { terms, threshold } = tree;
    const plane = tree.planes[node];
    const begin = tree.termsBegin[plane];
    const end = tree.termsBegin[plane + 1];
    if (tree.kind[node] === HYPERPLANE) {
      if (tree.missing[plane]) {
        for (let k = begin; k < end; k++) {
          if (Number.isNaN(z[terms.column[k]])) return tree.missing[plane] - 1;
        }
      }
      let value = sumOf(terms, begin, end, z, 1, 0);
      let limit = threshold[plane];
      if (Number.isNaN(value)) { // terms that overflow on both sides, or a value that is missing
        value = sumOf(terms, begin, end, z, SMALL, 0);
        limit *= SMALL;
      }
      return known(value) <= limit ? 0 : 1;
    }
    if (tree.kind[node] === LEVELS) {
      const code = z[terms.column[begin]];
      if (Number.isNaN(code)) return known(terms.standIn[begin]);
      const inside = code >= 0 && code < terms.tableSize[begin];
      return inside ? terms.table[terms.tableStart[begin] + Math.trunc(code)] : threshold[plane];
    }
    // A linear machine: the first of the largest values.
    let best = 0;
    let top = -Infinity;
    const nBranches = tree.planes[node + 1] - plane;
    for (let branch = 0; branch < nBranches; branch++) {
      const q = plane + branch;
      const value = known(
        sumOf(terms, tree.termsBegin[q], tree.termsBegin[q + 1], z, 1, 0) - threshold[q]);
      if (value > top) {
        best = branch;
        top = value;
      }
    }
    return best;
  }

  /** The sum of terms, from the first to the last. */
  function sumOf(terms, begin, end, z, scale, start) {
    let total = start;
    for (let k = begin; k < end; k++) {
      let value = z[terms.column[k]];
      const size = terms.tableSize[k];
      if (Number.isNaN(value)) {
        value = terms.standIn[k];
      } else if (size > 0) {
        const inside = value >= 0 && value < size;
        value = inside ? terms.table[terms.tableStart[k] + Math.trunc(value)] : 0;
      }
      total += terms.coef[k] * (value * scale);
    }
    return total;
  }

  /** A value that must be a number. */
  function known(value) {
    if (Number.isNaN(value)) {
      throw new Error("There is no answer: a value is missing, and nothing stands in for it.");
    }
    return value;
  }

  // --- answers ----------------------------------------------------------------------------------

  /** Add what the leaf of a tree says of a row. */
  function addSaid(tree, node, z, total) {
    const leaf = -1 - tree.child[node];
    const begin = leaf * N_ANSWERS;
    if (!tree.lines) {
      for (let place = 0; place < N_ANSWERS; place++) total[place] += tree.says[begin + place];
      return;
    }
    const { terms, begin: termsBegin, intercept, low, high } = tree.lines;
    let value = sumOf(terms, termsBegin[leaf], termsBegin[leaf + 1], z, 1, intercept[leaf]);
    if (Number.isNaN(value)) value = tree.says[begin];
    total[0] += Math.min(Math.max(value, low[leaf]), high[leaf]);
  }

  /** What leaves say, put together, before the last step. */
  function sumsOf(z, leaves) {
    const votes = new Array(N_ANSWERS).fill(0);
    const total = new Array(N_ANSWERS).fill(START);
    FOREST.forEach((tree, number) => {
      const node = leaves[number];
      if (FINISH === "vote" || FINISH === "pairs") votes[tree.chooses[-1 - tree.child[node]]] += 1;
      if (FINISH !== "vote") addSaid(tree, node, z, total);
    });
    if (FINISH === "vote") return votes;
    if (FINISH === "pairs") return votes.map((n, place) => n + total[place] / (FOREST.length + 1));
    return total;
  }

  /** The shares of classes, or numbers. */
  function answerOf(z, leaves) {
    const sums = sumsOf(z, leaves);
    if (FINISH === "leaf") return sums;
    if (FINISH === "vote" || FINISH === "mean") return sums.map((value) => value / FOREST.length);
    if (classes.length === 0) return sums;
    let parts = sums;
    if (FINISH === "sum") parts = sums.map((value) => Math.max(value, 0));
    if (FINISH === "log_odds") {
      const largest = Math.max(...sums);
      parts = sums.map((value) => Math.exp(value - largest));
    }
    let whole = 0;
    for (const part of parts) whole += part;
    return parts.map((part) => part / whole);
  }

  /** The number of the class: that of the only leaf, or the first of the largest sums. */
  function chosenBy(z, leaves) {
    if (FOREST.length === 1) return FOREST[0].chooses[-1 - FOREST[0].child[leaves[0]]];
    const sums = sumsOf(z, leaves);
    let best = 0;
    for (let place = 1; place < sums.length; place++) if (sums[place] > sums[best]) best = place;
    return best;
  }

  return {
    columns, classes, predict, predictProba, apply, selfTest,
    // What the report's page asks beside it, of rows as numbers: the steps of an answer.
    forest: FOREST, branchOf, leavesOf, answerOf, chosenBy,
  };
}
