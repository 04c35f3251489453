const MODEL = makeModel({
  columns: COLUMNS, classes: CLASSES, finish: FINISH, start: START, nAnswers: N_ANSWERS,
  trees: TREES, tests: TESTS,
});

/** The names of the columns, in their order. */
export const columns = MODEL.columns;

/** The labels of the classes, in the order of predictProba; none if the model says numbers. */
export const classes = MODEL.classes;

/**
 * What the model says of a row: the label of a class, or a number, or an array of numbers if it
 * has several outputs.
 *
 * A row is an object that has the columns as properties of its own, or an array in the order of
 * `columns`. null, undefined and NaN are missing values; a property that is not there is an error.
 */
export function predict(row) {
  return MODEL.predict(row);
}

/** The share of each class, in the order of `classes`. */
export function predictProba(row) {
  return MODEL.predictProba(row);
}

/** The number of the leaf that a row reaches in each tree. */
export function apply(row) {
  return MODEL.apply(row);
}

/** Run the rows that came with the model. Throws at the first that differs; returns how many. */
export function selfTest() {
  return MODEL.selfTest();
}
