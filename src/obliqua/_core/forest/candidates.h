/* The cuts that a node of a forest's tree compares: of a few columns, and along a few directions.
 *
 *  - columns: drawn without replacement until `n_axis` were drawn and one of them can be cut;
 *  - directions: of k columns, k drawn from 2 .. most_terms, with S the scatter matrix of two classes
 *    among the node's rows, drawn in proportion to their rows, w = (S + ridge diag S)^-1 (m_a - m_b);
 *    where numbers are learnt, of all rows, w = (S + ridge diag S)^-1 sum of (x - m) y. At most
 *    `direction_rows` rows serve for that. Or somebody else is asked for it. Passed over if the node
 *    has fewer than `rows_per_term` k rows, unless no column can be cut;
 *  - the cut of the least G (1 + price (k - 1) / n) wins, where G is the impurity that is left times
 *    the weight, n the rows of the node; at ties the first. If it is no better than no cut, the
 *    columns that were not drawn are tried one after another.
 *
 * Columns are compared by ranks, which are exact. One that has few values beside the rows of the node
 * is not sorted: what its rows add up to stands in *cells*, one for each value. Directions are searched
 * along floats, on a grid of 2^30 steps; in a node with many rows first by cells of many steps, and
 * then step by step within the two cells between which the best cut was.
 *
 * Sparse columns have entries for what is not 0. Those of a node's rows are found, and all other rows
 * have the place of 0; sums that are whole numbers are added in any order, so that only entries are
 * passed and the zeros go in one step.
 */
#ifndef OBLIQUA_CANDIDATES_H
#define OBLIQUA_CANDIDATES_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "loops.h"
#include "scalars.h"

#define OB_GRID_BITS 30
#define OB_CELLS_PER_ROW 2     /* sums in cells, at most */
#define OB_LEAST_BITS 5        /* fewer than 2^5 cells are no help along a direction */
#define OB_MOST_BITS 8
#define OB_FEW_KEYS 24         /* sorted by insertion */
#define OB_BUCKETS 4096
#define OB_NO_GAIN 1e-12       /* a share of the impurity that is rounding, not gain */
#define OB_DROPPED 1e-6        /* a coefficient that moves rows less, beside the largest, is 0 */
#define OB_EXACT_SQUARES 67108864.0 /* squares of whole numbers up to it are exact */
#define OB_MISSING_KEY(f, column) ((uint32_t) (f)->n_values[column] + 1) /* above all places */

/* So that each caller's constants are known inside. */
#if defined(__GNUC__)
#define OB_INLINE static inline __attribute__((always_inline))
#else
#define OB_INLINE static inline
#endif

enum { OB_GINI, OB_ENTROPY, OB_SQUARES };                /* criteria */
enum { OB_NO_CUT, OB_COLUMN, OB_DIRECTION };             /* what is cut */
enum { OB_STAND_IN, OB_MISSING_LEFT, OB_MISSING_RIGHT }; /* as MissingSide of a Tree */

/* What all trees share: rows, columns, rules. */
typedef struct {
    int64_t n, p;
    const int32_t *rank;       /* n x p: place of the value among those of its column; -1: missing */
    const int32_t *n_values;   /* p: how many different values there are */
    const int64_t *ptr;        /* p + 1: where the entries of sparse columns begin; NULL: they are dense */
    const int32_t *entry_row;  /* ascending in a column */
    const int32_t *entry_rank; /* as rank, x and z of dense columns */
    const float *entry_x;
    const double *entry_value;
    const int32_t *zero_rank;  /* p: of 0 */
    const float *zero_x;
    const int64_t *row_ptr;    /* n + 1: where the columns of a row's entries begin */
    const int32_t *row_column;
    const float *x;            /* n x p: (value - centre) 2^-exponent; of its stand-in if it is missing */
    const void *z;             /* the values themselves, float or double, with any strides */
    int64_t row_stride, col_stride;
    int32_t single;            /* whether they are floats */
    const int64_t *source;     /* n: where the row stands in z */
    const double *stand_in;    /* what a missing value counts in a direction */
    const int32_t *exponent;
    const int64_t *level_ptr;  /* p + 1: where the levels of a column begin, if it has any */
    const uint8_t *has_missing; /* of columns of numbers */
    const int32_t *y;          /* classes; or NULL */
    const double *number;      /* n x n_outputs; or NULL */
    int32_t n_classes, n_outputs;
    int32_t criterion;
    int64_t n_axis, n_oblique, most_terms, direction_rows;
    double rows_per_term, ridge, price;
    int64_t max_depth, min_split, min_leaf, max_leaves; /* -1: no limit */
    double min_leaf_share, min_decrease;
} ob_forest;

typedef struct {
    int64_t begin, end;        /* its rows */
    uint64_t key;
    double decrease;           /* of impurity times weight, by the split that was found */
    int32_t depth;
    int32_t split;             /* which split was found, -1: none */
    int32_t left;              /* first of two children, -1: a leaf */
    int64_t middle;            /* its rows are divided already: where those of the right begin */
} ob_node;

/* A row that the tree is grown from. */
typedef struct {
    double w;
    union {
        double number;         /* what is learnt: the first output */
        int32_t y;             /* or its class */
    };
    int32_t row;               /* which one it is */
    int32_t times;             /* as how many rows it counts */
} ob_member;

/* A hyperplane; of one term with coefficient 1 it is a cut of a column. */
typedef struct {
    double threshold;
    int64_t first_term;
    int32_t n_terms;
    int32_t missing;           /* where rows go that miss a value */
} ob_split;

typedef struct {
    double coef;
    double spread;             /* standard deviation of what coef is multiplied with */
    int32_t column;
} ob_term;

/* The best cut that a node has found so far. */
typedef struct {
    double left_over;          /* G, and the same with its price */
    double priced;
    int32_t kind;              /* what it is a cut of, 0: none yet */
    int32_t column;
    int32_t missing;           /* for a column: where missing values are tried */
    uint32_t last;             /* the last key on the left */
    uint32_t next;             /* the first one on the right */
    int64_t n_terms;
    int32_t *term_column;      /* of a direction */
    float *term_coef;
} ob_best;

typedef struct {
    const ob_forest *f;
    /* the tree */
    ob_node *nodes;
    ob_split *splits;
    ob_term *terms;
    int64_t n_nodes, n_splits, n_terms;
    int64_t room_nodes, room_splits, room_terms;
    int32_t *open;             /* nodes that can be divided: a stack, or a heap */
    int64_t n_open, room_open;
    ob_member *rows;           /* in the order of nodes */
    int64_t n;
    double total;              /* weight of all */
    /* scratch, for the rows of a node */
    ob_member *aside;
    double *cells;             /* the same memory, while cuts are compared: three doubles a row */
    uint64_t *keys, *spare;
    double *values;
    int32_t *sample;
    float *along;              /* values of rows along a direction */
    uint32_t *grid;            /* their places there; or in a column, from 1 on, 0: missing */
    uint8_t *goes_right;
    int32_t *place;            /* of sparse columns: where a row stands in the node, if it is there */
    int32_t *found;            /* the rows of a column's entries in the node, as they stand there, */
    int64_t *entry;            /* and which entries these are */
    int32_t *sample_place;     /* of the rows in the node: 1 + the place in the sample; 0: none */
    float *term;               /* what a term adds to each row */
    double *zeros;             /* a cell with the rows that have no entry */
    int64_t *stamp;            /* of a column: the last small node in which it had entries */
    int64_t stamp_here;        /* this node; 0 if it is not small */
    int64_t n_stamps;
    int whole;                 /* whether weights are whole numbers whose squares are exact */
    /* of a node */
    double *sums, *left_sums, *right_sums; /* classes, or outputs about the mean */
    double *mean;              /* of outputs */
    int32_t n_sums, width;     /* of a cell: its sums, with that of rows if it is wanted */
    double impurity, weight;
    int64_t counted;           /* rows, as they count */
    int32_t depth;
    int32_t *columns, *swaps;  /* 0 .. p - 1, but for columns that were drawn; how to put them back */
    int32_t *others, *other_swaps; /* the same for directions, which draw from all columns */
    int32_t *drawn;
    float *coefs;              /* of a direction */
    ob_best best;
    double *scatter, *moment, *size, *buffer;
    int failed;                /* no memory, or an error of what is asked */
    /* Who is asked for directions, if they are not fitted here: writes the terms of one to `drawn`,
     * which has k columns, and `coefs`, and returns how many they are. */
    int64_t (*ask)(void *asked, int64_t begin, int64_t n, int64_t k, uint64_t key);
    void *asked;
} ob_grower;

/* --- random numbers --------------------------------------------------------------------------- */

/* A whole number from 0 to below - 1 (at most 2^32). */
static inline int64_t ob_below(uint64_t *state, int64_t below) {
    return (int64_t) (((ob_draw(state) >> 32) * (uint64_t) below) >> 32);
}

/* The next of the columns, of which `drawn` were drawn; they stand in front. */
static inline int32_t ob_draw_column(int32_t *columns, int32_t *swaps, int64_t drawn, int64_t p,
                                     uint64_t *state) {
    int64_t at = drawn + ob_below(state, p - drawn);
    int32_t column = columns[at];
    columns[at] = columns[drawn];
    columns[drawn] = column;
    swaps[drawn] = (int32_t) at;
    return column;
}

static inline void ob_put_back(int32_t *columns, const int32_t *swaps, int64_t drawn) {
    while (drawn-- > 0) {
        int32_t column = columns[drawn];
        columns[drawn] = columns[swaps[drawn]];
        columns[swaps[drawn]] = column;
    }
}

/* --- sorting -------------------------------------------------------------------------------- */

static inline void ob_insertion(uint64_t *keys, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        uint64_t key = keys[i];
        int64_t j = i;
        for (; j > 0 && keys[j - 1] > key; j--)
            keys[j] = keys[j - 1];
        keys[j] = key;
    }
}

/* Sorts keys, whose upper halves are `low` to `high`, into `sorted`: by buckets, and then by
 * insertion, which has little to do within buckets. One that has very many keys is sorted in the
 * same way, unless they are equal. Keys that are equal in their upper halves must come in the order
 * of the lower ones. */
static void ob_sort(uint64_t *keys, uint64_t *sorted, int64_t n, uint32_t low, uint32_t high) {
    int32_t start[OB_BUCKETS + 1];
    int32_t largest = 0;
    int shift = 0;
    uint32_t most = n < OB_BUCKETS ? (uint32_t) n : OB_BUCKETS;
    while (((high - low) >> shift) >= most)
        shift++;
    int64_t n_buckets = (int64_t) ((high - low) >> shift) + 1;
    memset(start, 0, (size_t) (n_buckets + 1) * sizeof(int32_t));
    for (int64_t i = 0; i < n; i++)
        start[(((uint32_t) (keys[i] >> 32) - low) >> shift) + 1]++;
    for (int64_t b = 0; b < n_buckets; b++) {
        largest = start[b + 1] > largest ? start[b + 1] : largest;
        start[b + 1] += start[b];
    }
    for (int64_t i = 0; i < n; i++)
        sorted[start[((uint32_t) (keys[i] >> 32) - low) >> shift]++] = keys[i];
    if (shift == 0)
        return;
    /* Each start has moved to the end of its bucket. */
    for (int64_t b = 0, begin = 0; largest > OB_FEW_KEYS && b < n_buckets; begin = start[b++]) {
        int64_t size = start[b] - begin;
        if (size <= OB_FEW_KEYS)
            continue;
        uint32_t least = UINT32_MAX, last = 0;
        for (int64_t i = begin; i < start[b]; i++) {
            uint32_t q = (uint32_t) (sorted[i] >> 32);
            least = q < least ? q : least;
            last = q > last ? q : last;
        }
        if (least < last) {
            ob_sort(sorted + begin, keys + begin, size, least, last);
            memcpy(sorted + begin, keys + begin, (size_t) size * sizeof(uint64_t));
        }
    }
    ob_insertion(sorted, n);
}

/* Sorts the keys of a node's rows, whose upper halves are `low` to `high`. */
static void ob_sort_keys(ob_grower *g, int64_t n, uint32_t low, uint32_t high) {
    if (n <= OB_FEW_KEYS) {
        ob_insertion(g->keys, n);
        return;
    }
    ob_sort(g->keys, g->spare, n, low, high);
    uint64_t *sorted = g->spare;
    g->spare = g->keys;
    g->keys = sorted;
}

/* --- scoring -------------------------------------------------------------------------------- */

static inline double ob_number(const ob_forest *f, int64_t row, int64_t output) {
    return f->number[row * f->n_outputs + output];
}

static inline double ob_log_term(double x) { return x > 0 ? x * log(x) : 0.0; }

/* Impurity times weight of the node, from its sums. */
static double ob_node_impurity(ob_grower *g, int64_t begin, int64_t end) {
    const ob_forest *f = g->f;
    double found = 0;
    if (f->criterion == OB_SQUARES) {
        for (int32_t o = 0; o < f->n_outputs; o++)
            for (int64_t i = begin; i < end; i++) {
                double off = ob_number(f, g->rows[i].row, o) - g->mean[o];
                found += g->rows[i].w * off * off;
            }
        return found;
    }
    for (int32_t c = 0; c < f->n_classes; c++)
        found += f->criterion == OB_GINI ? g->sums[c] * g->sums[c] : ob_log_term(g->sums[c]);
    if (f->criterion == OB_GINI)
        return g->weight - found / g->weight;
    return ob_log_term(g->weight) - found;
}

/* A cut that moves from left to right along the rows of a node, and the best place it has been at.
 * What lies on its two sides stands in `left_sums` and `right_sums`. */
typedef struct {
    double wl, wr;             /* weight */
    double sl, sr;             /* sums of squares of classes */
    double rl;                 /* rows on the left, as they count */
    double best;
    uint32_t last, next;       /* the keys on both sides of it */
    int found;
} ob_sweep;

static ob_sweep ob_start_sweep(ob_grower *g) {
    ob_sweep sweep = {0, g->weight, 0, 0, 0, 0, 0, 0, 0};
    int32_t m = g->f->criterion == OB_SQUARES ? g->f->n_outputs : g->f->n_classes;
    memset(g->left_sums, 0, (size_t) m * sizeof(double));
    memcpy(g->right_sums, g->sums, (size_t) m * sizeof(double));
    for (int32_t c = 0; c < m; c++)
        sweep.sr += g->sums[c] * g->sums[c];
    return sweep;
}

/* One row goes left. */
OB_INLINE void ob_pass_row(ob_grower *g, ob_sweep *sweep, const ob_member *member, int criterion) {
    double v = member->w, *left = g->left_sums, *right = g->right_sums;
    if (criterion == OB_SQUARES) {
        left[0] += v * (member->number - g->mean[0]);
        for (int32_t o = 1; o < g->f->n_outputs; o++)
            left[o] += v * (ob_number(g->f, member->row, o) - g->mean[o]);
    } else {
        int32_t c = member->y;
        sweep->sl += v * (2 * left[c] + v);
        sweep->sr -= v * (2 * right[c] - v);
        left[c] += v;
        right[c] -= v;
    }
    sweep->wl += v;
    sweep->wr -= v;
    sweep->rl += member->times;
}

OB_INLINE double ob_cell_weight(const ob_grower *g, const double *cell, int criterion) {
    double v = 0;
    if (criterion == OB_SQUARES)
        return cell[g->f->n_outputs];
    for (int32_t c = 0; c < g->f->n_classes; c++)
        v += cell[c];
    return v;
}

/* All rows of a cell, which weigh v, go left. */
OB_INLINE void ob_pass_cell(ob_grower *g, ob_sweep *sweep, const double *cell, double v,
                            int criterion) {
    double *left = g->left_sums, *right = g->right_sums;
    if (criterion == OB_SQUARES)
        for (int32_t o = 0; o < g->f->n_outputs; o++)
            left[o] += cell[o];
    else {
        sweep->sl = sweep->sr = 0;
        for (int32_t c = 0; c < g->f->n_classes; c++) {
            left[c] += cell[c];
            right[c] -= cell[c];
            sweep->sl += left[c] * left[c];
            sweep->sr += right[c] * right[c];
        }
    }
    sweep->wl += v;
    sweep->wr -= v;
    sweep->rl += cell[g->width - 1];     /* if rows are not counted it is a sum that nobody reads */
}

/* Takes the cut between two keys if it is the best so far, and its sides have rows enough. */
OB_INLINE void ob_consider(const ob_grower *g, ob_sweep *sweep, uint32_t here, uint32_t next,
                           int criterion) {
    const ob_forest *f = g->f;
    const double *left = g->left_sums, *right = g->right_sums;
    double wl = sweep->wl, wr = sweep->wr, goodness = 0;
    if (criterion == OB_GINI)
        goodness = (sweep->sl * wr + sweep->sr * wl) / (wl * wr);
    else if (criterion == OB_ENTROPY) {
        double left_over = ob_log_term(wl) + ob_log_term(wr);
        for (int32_t c = 0; c < f->n_classes; c++)
            left_over -= ob_log_term(left[c]) + ob_log_term(right[c]);
        goodness = -left_over;
    } else {
        for (int32_t o = 0; o < f->n_outputs; o++) {
            double other = g->sums[o] - left[o];
            goodness += left[o] * left[o] * wr + other * other * wl;
        }
        goodness /= wl * wr;
    }
    if (sweep->found && !(goodness > sweep->best))
        return;
    double least_rows = (double) f->min_leaf, least_weight = f->min_leaf_share * g->total;
    if (least_rows > 1 && (sweep->rl < least_rows || (double) g->counted - sweep->rl < least_rows))
        return;
    if (wl < least_weight || wr < least_weight)
        return;
    sweep->best = goodness;
    sweep->last = here;
    sweep->next = next;
    sweep->found = 1;
}

/* Moves the cut along sorted keys, whose lower halves are the places of rows in the node; the cut
 * after the key `passed` is passed over. */
OB_INLINE void ob_sweep_rows(ob_grower *g, ob_sweep *sweep, int64_t begin, int64_t n,
                             uint32_t passed, int criterion) {
    for (int64_t i = 0; i + 1 < n; i++) {
        ob_pass_row(g, sweep, &g->rows[begin + (uint32_t) g->keys[i]], criterion);
        uint32_t here = (uint32_t) (g->keys[i] >> 32), next = (uint32_t) (g->keys[i + 1] >> 32);
        if (here != next && here != passed)
            ob_consider(g, sweep, here, next, criterion);
    }
}

/* Moves the cut along the cells from `start` to before `end`, and considers cuts after `first` and
 * those that come then; `after` is the key of the rows behind them, 0: none. */
OB_INLINE void ob_sweep_some(ob_grower *g, ob_sweep *sweep, uint32_t start, uint32_t first,
                             uint32_t end, uint32_t after, int criterion) {
    uint32_t here = end;                         /* the last cell that has rows; end: none yet */
    for (uint32_t at = start; at < end; at++) {
        const double *cell = g->cells + (int64_t) at * g->width;
        double v = ob_cell_weight(g, cell, criterion);
        if (v == 0)
            continue;
        if (here < end)
            ob_consider(g, sweep, here, at, criterion);
        ob_pass_cell(g, sweep, cell, v, criterion);
        if (at >= first)
            here = at;
    }
    if (after && here < end)
        ob_consider(g, sweep, here, after, criterion);
}

OB_INLINE void ob_add_to_cell(const ob_grower *g, const ob_member *member, int64_t at,
                              int criterion) {
    double *cell = g->cells + at * g->width;
    int32_t m = g->f->n_outputs;
    if (criterion == OB_SQUARES) {
        cell[0] += member->w * (member->number - g->mean[0]);
        for (int32_t o = 1; o < m; o++)
            cell[o] += member->w * (ob_number(g->f, member->row, o) - g->mean[o]);
        cell[m] += member->w;
    } else
        cell[member->y] += member->w;
    if (g->width > g->n_sums)
        cell[g->width - 1] += member->times;
}

/* Adds rows to the cells of their places along a direction. */
OB_INLINE void ob_fill_grid(ob_grower *g, int64_t begin, int64_t n, int shift, int criterion) {
    for (int64_t i = 0; i < n; i++)
        ob_add_to_cell(g, &g->rows[begin + i], g->grid[i] >> shift, criterion);
}

/* Adds rows to the cells of their places in a column, from 1; to cell 0 if it is missing. */
OB_INLINE void ob_fill_column(ob_grower *g, int64_t begin, int64_t n, int32_t column,
                              int criterion) {
    const int32_t *rank = g->f->rank + column;
    const ob_member *rows = g->rows + begin;
    for (int64_t i = 0; i < n; i++)
        ob_add_to_cell(g, &rows[i], rank[rows[i].row * g->f->p] + 1, criterion);
}

/* One version of each for each criterion. */
#define OB_BY_CRITERION(name, ...)                                                                 \
    do {                                                                                           \
        if (g->f->criterion == OB_GINI)                                                            \
            name(g, __VA_ARGS__, OB_GINI);                                                         \
        else if (g->f->criterion == OB_ENTROPY)                                                    \
            name(g, __VA_ARGS__, OB_ENTROPY);                                                      \
        else                                                                                       \
            name(g, __VA_ARGS__, OB_SQUARES);                                                      \
    } while (0)

static void ob_sweep_keys(ob_grower *g, ob_sweep *sweep, int64_t begin, int64_t n, uint32_t passed) {
    OB_BY_CRITERION(ob_sweep_rows, sweep, begin, n, passed);
}

static void ob_sweep_cells(ob_grower *g, ob_sweep *sweep, uint32_t start, uint32_t first,
                           uint32_t end, uint32_t after) {
    OB_BY_CRITERION(ob_sweep_some, sweep, start, first, end, after);
}

static void ob_empty_cells(ob_grower *g, uint32_t end) {
    memset(g->cells, 0, (size_t) end * (size_t) g->width * sizeof(double));
}

/* Offers the best cut that was found: 0 if there is none, 2 if it is the best of the node. */
static int ob_offer(ob_grower *g, const ob_sweep *sweep, int64_t n_terms) {
    const ob_forest *f = g->f;
    ob_best *best = &g->best;
    if (!sweep->found)
        return 0;
    double left_over = -sweep->best;
    if (f->criterion != OB_ENTROPY)
        left_over += f->criterion == OB_GINI ? g->weight : g->impurity;
    double priced = left_over * (1.0 + f->price * (double) (n_terms - 1) / (double) g->counted);
    if (best->kind && priced >= best->priced)
        return 1;
    best->left_over = left_over;
    best->priced = priced;
    best->last = sweep->last;
    best->next = sweep->next;
    return 2;
}

static int ob_has_rows(const ob_grower *g, int64_t at) {
    return ob_cell_weight(g, g->cells + at * g->width, g->f->criterion) > 0;
}

/* --- sparse columns ------------------------------------------------------------------------- */

#define OB_FEW_ENTRIES 16      /* more for each row are searched, not passed */

/* Notes where the rows of a node stand in it, and which columns have entries there, if it has fewer
 * entries than the columns that will be drawn have in all rows. */
static void ob_note_places(ob_grower *g, int64_t begin, int64_t n) {
    const ob_forest *f = g->f;
    if (f->ptr == NULL)
        return;
    for (int64_t i = 0; i < n; i++)
        g->place[g->rows[begin + i].row] = (int32_t) i;
    g->stamp_here = n * f->p < f->n_axis * f->n ? ++g->n_stamps : 0;
    for (int64_t i = 0; g->stamp_here && i < n; i++) {
        int32_t row = g->rows[begin + i].row;
        for (int64_t at = f->row_ptr[row]; at < f->row_ptr[row + 1]; at++)
            g->stamp[f->row_column[at]] = g->stamp_here;
    }
}

/* Finds the entries of a column among the rows of a node, in their order; returns how many. */
static int64_t ob_find_entries(ob_grower *g, int64_t begin, int64_t n, int32_t column) {
    const ob_forest *f = g->f;
    const ob_member *rows = g->rows + begin;
    int64_t at = f->ptr[column], end = f->ptr[column + 1], m = 0;
    if (g->stamp_here && g->stamp[column] != g->stamp_here)
        return 0;
    if (end - at <= OB_FEW_ENTRIES * n) {
        for (; at < end; at++) {
            int32_t row = f->entry_row[at], place = g->place[row];
            if (place < n && rows[place].row == row) {
                g->found[m] = place;
                g->entry[m++] = at;
            }
        }
        return m;
    }
    for (int64_t i = 0; i < n && at < end; i++) {
        int64_t last = end;
        while (at < last) {
            int64_t middle = (at + last) / 2;
            if (f->entry_row[middle] < rows[i].row)
                at = middle + 1;
            else
                last = middle;
        }
        if (at < end && f->entry_row[at] == rows[i].row) {
            g->found[m] = (int32_t) i;
            g->entry[m++] = at++;
        }
    }
    return m;
}

/* Writes the places of a node's rows in a column to the grid, from 1 on, 0: missing. */
static void ob_fill_places(ob_grower *g, int64_t n, int64_t m, int32_t column) {
    const ob_forest *f = g->f;
    for (int64_t i = 0; i < n; i++)
        g->grid[i] = (uint32_t) f->zero_rank[column] + 1;
    for (int64_t i = 0; i < m; i++)
        g->grid[g->found[i]] = (uint32_t) (f->entry_rank[g->entry[i]] + 1);
}

/* Moves the cut along sorted entries, and along the zeros, which have the key `zero`, in one step. */
OB_INLINE void ob_sweep_entries(ob_grower *g, ob_sweep *sweep, int64_t begin, int64_t m,
                                uint32_t zero, double zero_weight, int criterion) {
    int zeros = zero_weight > 0;
    uint32_t here = 0;
    for (int64_t i = 0; i < m || zeros; ) {
        uint32_t next = i < m ? (uint32_t) (g->keys[i] >> 32) : UINT32_MAX;
        int is_zero = zeros && next >= zero;
        if (is_zero)
            next = zero;
        if (here && here != next)
            ob_consider(g, sweep, here, next, criterion);
        if (is_zero) {
            ob_pass_cell(g, sweep, g->zeros, zero_weight, criterion);
            zeros = 0;
        } else
            ob_pass_row(g, sweep, &g->rows[begin + (uint32_t) g->keys[i++]], criterion);
        here = next;
    }
}

/* Finds the best cut of a column by its entries, if weights are whole numbers and none is missing. */
static void ob_sweep_sparse(ob_grower *g, ob_sweep *sweep, int64_t begin, int64_t n, int64_t m,
                            int32_t column) {
    const ob_forest *f = g->f;
    uint32_t low = UINT32_MAX, high = 0;
    double weight = 0;
    memcpy(g->zeros, g->sums, (size_t) f->n_classes * sizeof(double));
    g->zeros[g->n_sums] = (double) g->counted;
    for (int64_t i = 0; i < m; i++) {
        const ob_member *member = &g->rows[begin + g->found[i]];
        uint32_t key = (uint32_t) (f->entry_rank[g->entry[i]] + 1);
        low = key < low ? key : low;
        high = key > high ? key : high;
        g->keys[i] = ((uint64_t) key << 32) | (uint64_t) g->found[i];
        g->zeros[member->y] -= member->w;
        g->zeros[g->n_sums] -= member->times;
    }
    if (m == n && low == high)
        return;
    for (int32_t c = 0; c < f->n_classes; c++)
        weight += g->zeros[c];
    if (low < high)
        ob_sort_keys(g, m, low, high);
    OB_BY_CRITERION(ob_sweep_entries, sweep, begin, m, (uint32_t) f->zero_rank[column] + 1,
                    m < n ? weight : 0.0);
}

/* Whether no cut of a column of zeros and m entries can be better than the best so far, where numbers
 * are learnt: by sums that are added in another order, with room for what they may lose. Any of its
 * cuts must be allowed. With d the distance of a number from the mean, the sum of w d^2 over entries
 * bounds all of them; the sums of w d on the outer side of each cut tell more. */
static int ob_no_better(ob_grower *g, int64_t begin, int64_t n, int64_t m, int32_t column) {
    const ob_forest *f = g->f;
    int32_t outputs = f->n_outputs;
    double squares = 0, weight = 0;
    double lost = 1e-9 + 4e-16 * (double) n * sqrt(g->weight); /* at most, as a share of all */
    double bar = g->impurity * (1.0 - lost) - g->best.priced;
    uint32_t zero = (uint32_t) f->zero_rank[column] + 1, low = UINT32_MAX, high = 0;
    if (!g->whole || g->best.kind == OB_NO_CUT || f->min_leaf > 1 || f->min_leaf_share > 0)
        return 0;
    for (int64_t i = 0; i < m; i++) {
        const ob_member *member = &g->rows[begin + g->found[i]];
        uint32_t key = (uint32_t) (f->entry_rank[g->entry[i]] + 1);
        low = key < low ? key : low;
        high = key > high ? key : high;
        g->keys[i] = ((uint64_t) key << 32) | (uint64_t) g->found[i];
        weight += member->w;
        for (int32_t o = 0; o < outputs; o++) {
            double d = ob_number(f, member->row, o) - g->mean[o];
            squares += member->w * d * d;
        }
    }
    if (squares * g->weight < bar * (g->weight - weight))
        return 1;
    if (low < high)
        ob_sort_keys(g, m, low, high);
    for (int from_right = 0; from_right < 2; from_right++) {
        weight = 0;
        memset(g->left_sums, 0, (size_t) outputs * sizeof(double));
        for (int64_t i = 0; i < m; i++) {
            int64_t at = from_right ? m - 1 - i : i;
            uint32_t key = (uint32_t) (g->keys[at] >> 32), next = zero;
            const ob_member *member = &g->rows[begin + (uint32_t) g->keys[at]];
            if (from_right ? key < zero : key > zero)
                break;
            weight += member->w;
            for (int32_t o = 0; o < outputs; o++)
                g->left_sums[o] += member->w * (ob_number(f, member->row, o) - g->mean[o]);
            if (i + 1 < m)
                next = (uint32_t) (g->keys[from_right ? at - 1 : at + 1] >> 32);
            if (key == next)
                continue;
            squares = 0;
            for (int32_t o = 0; o < outputs; o++)
                squares += g->left_sums[o] * g->left_sums[o];
            if (squares * g->weight >= bar * (weight * (g->weight - weight)))
                return 0;
        }
    }
    return 1;
}

static int ob_some_missing(const ob_grower *g, int64_t m, int32_t column) {
    int missing = 0;
    for (int64_t i = 0; g->f->has_missing[column] && i < m; i++)
        missing |= g->f->entry_rank[g->entry[i]] < 0;
    return missing;
}

/* --- cuts of one column --------------------------------------------------------------------- */

/* Sorts the rows of a node by their places on the grid, those at 0 by another key; whether they have
 * different ones. */
static int ob_sort_rows(ob_grower *g, int64_t n, uint32_t of_zero) {
    uint32_t low = UINT32_MAX, high = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t key = g->grid[i] ? g->grid[i] : of_zero;
        low = key < low ? key : low;
        high = key > high ? key : high;
        g->keys[i] = ((uint64_t) key << 32) | (uint64_t) i;
    }
    if (low < high)
        ob_sort_keys(g, n, low, high);
    return low < high;
}

/* Tries the best cut of a column that a sweep has found; whether there is one. */
static int ob_offer_column(ob_grower *g, const ob_sweep *sweep, int32_t column, int32_t missing) {
    int offered = ob_offer(g, sweep, 1);
    if (offered == 2) {
        g->best.kind = OB_COLUMN;
        g->best.column = column;
        g->best.missing = missing;
    }
    return offered > 0;
}

/* Tries the cuts of one column; whether there is one. Missing values stand right of all others, and
 * then left of them, where the cut between the two is no other one. */
static int ob_try_column(ob_grower *g, int64_t begin, int64_t n, int32_t column) {
    const ob_forest *f = g->f;
    const int32_t *rank = f->ptr == NULL ? f->rank + column : NULL;
    uint32_t end = (uint32_t) f->n_values[column] + 1, of_missing = OB_MISSING_KEY(f, column);
    int few = (int64_t) end * g->n_sums <= OB_CELLS_PER_ROW * n, missing = 0, cut;
    ob_sweep sweep;
    if (f->ptr != NULL) {
        int64_t m = ob_find_entries(g, begin, n, column);
        if (m == 0)
            return 0;
        if (!ob_some_missing(g, m, column)) {
            if (f->criterion == OB_SQUARES) {
                if (m < n && ob_no_better(g, begin, n, m, column))
                    return 1;
            } else if (g->whole) {
                sweep = ob_start_sweep(g);
                ob_sweep_sparse(g, &sweep, begin, n, m, column);
                return ob_offer_column(g, &sweep, column, OB_STAND_IN);
            }
        }
        ob_fill_places(g, n, m, column);
    }
    sweep = ob_start_sweep(g);
    if (few) {
        ob_empty_cells(g, end);
        if (f->ptr != NULL)
            OB_BY_CRITERION(ob_fill_grid, begin, n, 0);
        else
            OB_BY_CRITERION(ob_fill_column, begin, n, column);
        missing = f->has_missing[column] && ob_has_rows(g, 0);
        ob_sweep_cells(g, &sweep, 1, 1, end, missing ? of_missing : 0);
    } else {
        for (int64_t i = 0; f->ptr == NULL && i < n; i++)
            g->grid[i] = (uint32_t) (rank[(int64_t) g->rows[begin + i].row * f->p] + 1);
        for (int64_t i = 0; i < n; i++)
            missing |= g->grid[i] == 0;
        if (!ob_sort_rows(g, n, of_missing))
            return 0;
        ob_sweep_keys(g, &sweep, begin, n, UINT32_MAX);
    }
    cut = ob_offer_column(g, &sweep, column, missing ? OB_MISSING_RIGHT : OB_STAND_IN);
    if (!missing)
        return cut;
    sweep = ob_start_sweep(g);
    if (few)
        ob_sweep_cells(g, &sweep, 0, 1, end, 0);
    else {
        ob_sort_rows(g, n, 0);
        ob_sweep_keys(g, &sweep, begin, n, 0);
    }
    return ob_offer_column(g, &sweep, column, OB_MISSING_LEFT) || cut;
}

/* --- directions ----------------------------------------------------------------------------- */

/* Draws k columns without replacement, in ascending order, into `drawn`. */
static void ob_draw_columns(ob_grower *g, int64_t k, uint64_t *state) {
    for (int64_t i = 0; i < k; i++) {
        int32_t column = ob_draw_column(g->others, g->other_swaps, i, g->f->p, state);
        int64_t at = i;
        for (; at > 0 && g->drawn[at - 1] > column; at--)
            g->drawn[at] = g->drawn[at - 1];
        g->drawn[at] = column;
    }
    ob_put_back(g->others, g->other_swaps, k);
}

/* The sum of products: of every eighth, and then of these sums. n is a multiple of eight. */
OB_INLINE double ob_sum_products(const double *restrict a, const double *restrict b, int64_t n) {
    double lanes[OB_LANES] = {0}, sum = 0;
    for (int64_t i = 0; i < n; i += OB_LANES)
        for (int k = 0; k < OB_LANES; k++)
            lanes[k] += a[i + k] * b[i + k];
    for (int k = 0; k < OB_LANES; k++)
        sum += lanes[k];
    return sum;
}

/* Takes the means of the columns of a block, and of t, weighted, off them, and finds the lower triangle
 * of S, of the products of columns, and b, of those with t. A column stands behind the other; rows behind the
 * last one, so that they come in eights, weigh 0. */
OB_VERSIONS static void ob_moments(double *block, const double *w, double *t, double *scaled,
                                   int64_t n, int64_t k, double *S, double *b) {
    for (int64_t i = 0; i < n; i++)
        scaled[i] = 1;
    double weight = ob_sum_products(w, scaled, n), mean = ob_sum_products(w, t, n) / weight;
    for (int64_t i = 0; i < n; i++)
        t[i] -= mean;
    for (int64_t a = 0; a < k; a++) {
        double *own = block + a * n;
        mean = ob_sum_products(w, own, n) / weight;
        for (int64_t i = 0; i < n; i++) {
            own[i] -= mean;
            scaled[i] = w[i] * own[i];
        }
        b[a] = ob_sum_products(scaled, t, n);
        for (int64_t c = 0; c <= a; c++)
            S[a * k + c] = ob_sum_products(scaled, block + c * n, n);
    }
}

/* Solves (S + ridge diag S) z = b in place of b; whether it can be solved. */
static int ob_solve(double *S, double *b, int64_t k, double ridge) {
    for (int64_t a = 0; a < k; a++) {
        if (S[a * k + a] > 0)
            S[a * k + a] *= 1.0 + ridge;
        else {
            for (int64_t c = 0; c < k; c++)
                S[a * k + c] = S[c * k + a] = 0;
            S[a * k + a] = 1;
            b[a] = 0;
        }
    }
    if (!ob_factorise(S, k))
        return 0;
    ob_solve_lower(S, k, b);
    ob_solve_upper(S, k, b);
    return 1;
}

/* As ob_project_rows, for sparse columns: terms are added one after another, to all rows. */
static void ob_project_sparse(ob_grower *g, int64_t begin, int64_t n, int64_t n_terms) {
    const ob_forest *f = g->f;
    memset(g->along, 0, (size_t) n * sizeof(float));
    for (int64_t k = 0; k < n_terms; k++) {
        int32_t column = g->drawn[k];
        float coef = g->coefs[k], of_zero = coef * f->zero_x[column];
        int64_t m = ob_find_entries(g, begin, n, column);
        if (of_zero == 0) {                      /* adding 0 changes nothing */
            for (int64_t i = 0; i < m; i++)
                g->along[g->found[i]] += coef * f->entry_x[g->entry[i]];
            continue;
        }
        for (int64_t i = 0; i < n; i++)
            g->term[i] = of_zero;
        for (int64_t i = 0; i < m; i++)
            g->term[g->found[i]] = coef * f->entry_x[g->entry[i]];
        for (int64_t i = 0; i < n; i++)
            g->along[i] += g->term[i];
    }
}

/* Values of rows along a direction; the terms of a row are added in their order. Four rows at a time,
 * so that one sum need not wait for another. */
static void ob_project_rows(ob_grower *g, int64_t begin, int64_t n, int64_t n_terms) {
    const ob_forest *f = g->f;
    const ob_member *rows = g->rows + begin;
    int64_t i = 0;
    if (f->ptr != NULL) {
        ob_project_sparse(g, begin, n, n_terms);
        return;
    }
    for (; i + 4 <= n; i += 4) {
        const float *a = f->x + (int64_t) rows[i].row * f->p;
        const float *b = f->x + (int64_t) rows[i + 1].row * f->p;
        const float *c = f->x + (int64_t) rows[i + 2].row * f->p;
        const float *d = f->x + (int64_t) rows[i + 3].row * f->p;
        float va = 0, vb = 0, vc = 0, vd = 0;
        for (int64_t k = 0; k < n_terms; k++) {
            float coef = g->coefs[k];
            int32_t column = g->drawn[k];
            va += coef * a[column];
            vb += coef * b[column];
            vc += coef * c[column];
            vd += coef * d[column];
        }
        g->along[i] = va;
        g->along[i + 1] = vb;
        g->along[i + 2] = vc;
        g->along[i + 3] = vd;
    }
    for (; i < n; i++) {
        const float *a = f->x + (int64_t) rows[i].row * f->p;
        float va = 0;
        for (int64_t k = 0; k < n_terms; k++)
            va += g->coefs[k] * a[g->drawn[k]];
        g->along[i] = va;
    }
}

/* Draws the classes of two rows of a node, which has several. */
static void ob_draw_pair(ob_grower *g, int64_t begin, int64_t n, uint64_t *state, int32_t pair[2]) {
    const ob_member *rows = g->rows + begin;
    pair[0] = rows[ob_below(state, n)].y;
    int64_t at = ob_below(state, n);
    for (int tries = 0; tries < 64 && rows[at].y == pair[0]; tries++)
        at = ob_below(state, n);
    while (rows[at].y == pair[0])
        at = at + 1 < n ? at + 1 : 0;
    pair[1] = rows[at].y;
}

/* Picks the rows that a direction is fitted to, what is learnt of them (t) and their weights; returns
 * how many, 0 if they tell nothing. */
static int64_t ob_sample(ob_grower *g, int64_t begin, int64_t n, uint64_t *state, double *t,
                         double *w) {
    const ob_forest *f = g->f;
    int numbers = f->criterion == OB_SQUARES, of_first = 0, of_second = 0;
    int32_t pair[2];
    if (!numbers)
        ob_draw_pair(g, begin, n, state, pair);
    int64_t most = n < f->direction_rows ? n : f->direction_rows, found = 0;
    int64_t place = n > most ? ob_below(state, n) : 0, rest = 0; /* it began at this + i n / most */
    int64_t step = n / most, more = n % most;
    for (int64_t i = 0; i < most; i++) {         /* all are written, and some stay */
        const ob_member *member = &g->rows[begin + (place < n ? place : place - n)];
        place += step;
        rest += more;
        place += rest >= most;
        rest -= rest >= most ? most : 0;
        g->sample[found] = member->row;
        w[found] = member->w;
        if (numbers) {
            t[found++] = member->number - g->mean[0];
            continue;
        }
        int first = member->y == pair[0], second = member->y == pair[1];
        t[found] = first;
        of_first |= first;
        of_second |= second;
        found += first | second;
    }
    return found >= 2 && (numbers || (of_first && of_second)) ? found : 0;
}

/* Writes the drawn columns of the sampled rows, one behind the other, if columns are sparse. */
static void ob_read_sample(ob_grower *g, int64_t begin, int64_t n, int64_t k, int64_t n_found,
                           int64_t room, double *block) {
    const ob_forest *f = g->f;
    for (int64_t i = 0; i < n_found; i++)
        g->sample_place[g->place[g->sample[i]]] = (int32_t) i + 1;
    for (int64_t a = 0; a < k; a++) {
        double *own = block + a * room;
        int64_t m = ob_find_entries(g, begin, n, g->drawn[a]);
        for (int64_t i = 0; i < n_found; i++)
            own[i] = f->zero_x[g->drawn[a]];
        for (int64_t i = 0; i < m; i++) {
            int32_t at = g->sample_place[g->found[i]];
            if (at > 0)
                own[at - 1] = f->entry_x[g->entry[i]];
        }
        for (int64_t i = n_found; i < room; i++)
            own[i] = own[0];
    }
    for (int64_t i = 0; i < n_found; i++)
        g->sample_place[g->place[g->sample[i]]] = 0;
}

/* Fits the direction of the drawn columns; returns its number of terms, which `drawn` and `coefs`
 * have. */
static int64_t ob_fit_direction(ob_grower *g, int64_t begin, int64_t n, int64_t k,
                                uint64_t *state) {
    const ob_forest *f = g->f;
    int64_t most = f->direction_rows + OB_LANES;
    double *t = g->buffer, *w = t + most, *scaled = w + most, *block = scaled + most;
    int64_t found = ob_sample(g, begin, n, state, t, w);
    if (found == 0)
        return 0;
    int64_t room = (found + OB_LANES - 1) / OB_LANES * OB_LANES;
    double *S = g->scatter, *b = g->moment;
    for (int64_t i = found; i < room; i++) {     /* it weighs nothing */
        t[i] = w[i] = 0;
        g->sample[i] = g->sample[0];
    }
    if (f->ptr != NULL)
        ob_read_sample(g, begin, n, k, found, room, block);
    for (int64_t i = 0; f->ptr == NULL && i < room; i++) {
        const float *x = f->x + (int64_t) g->sample[i] * f->p;
        for (int64_t a = 0; a < k; a++)
            block[a * room + i] = x[g->drawn[a]];
    }
    ob_moments(block, w, t, scaled, room, k, S, b);
    double *size = g->size, largest = 0, longest = 0;
    for (int64_t a = 0; a < k; a++)
        size[a] = sqrt(S[a * k + a]);
    if (!ob_solve(S, b, k, f->ridge))
        return 0;
    for (int64_t a = 0; a < k; a++) {
        double reach = fabs(b[a]) * size[a];
        largest = reach > largest ? reach : largest;
    }
    if (!(largest > 0) || largest - largest != 0)
        return 0;
    for (int64_t a = 0; a < k; a++) {
        if (fabs(b[a]) * size[a] < OB_DROPPED * largest)
            b[a] = 0;
        longest = fabs(b[a]) > longest ? fabs(b[a]) : longest;
    }
    int64_t kept = 0;
    for (int64_t a = 0; a < k; a++) {
        float coef = (float) (b[a] / longest);
        if (coef != 0) {
            g->drawn[kept] = g->drawn[a];
            g->coefs[kept++] = coef;
        }
    }
    return kept;
}

/* The places of rows along a direction on the grid; whether there are several. */
OB_VERSIONS static int ob_grid_places(const float *along, uint32_t *grid, int64_t n) {
    float low[OB_LANES], high[OB_LANES];
    int64_t i = 0;
    for (int k = 0; k < OB_LANES; k++)
        low[k] = high[k] = along[0];
    for (; i + OB_LANES <= n; i += OB_LANES)
        for (int k = 0; k < OB_LANES; k++) {
            low[k] = along[i + k] < low[k] ? along[i + k] : low[k];
            high[k] = along[i + k] > high[k] ? along[i + k] : high[k];
        }
    for (; i < n; i++) {
        low[0] = along[i] < low[0] ? along[i] : low[0];
        high[0] = along[i] > high[0] ? along[i] : high[0];
    }
    for (int k = 1; k < OB_LANES; k++) {
        low[0] = low[k] < low[0] ? low[k] : low[0];
        high[0] = high[k] > high[0] ? high[k] : high[0];
    }
    if (!(high[0] > low[0]))
        return 0;
    double least = low[0], steps = (double) (1 << OB_GRID_BITS) / ((double) high[0] - least);
    for (i = 0; i < n; i++)
        grid[i] = (uint32_t) (int32_t) (((double) along[i] - least) * steps);
    return 1;
}

/* Into how many cells the rows of a node are divided along a direction, as a power of two; 0: it has
 * too few rows for that. */
static int ob_cell_bits(const ob_grower *g, int64_t n) {
    int bits = OB_MOST_BITS;
    while (bits >= OB_LEAST_BITS && ((int64_t) g->n_sums << bits) > n)
        bits--;
    return bits >= OB_LEAST_BITS ? bits : 0;
}

/* The best cut along a direction, by cells, and then within the two between which it is. */
static ob_sweep ob_cut_cells(ob_grower *g, int64_t begin, int64_t n, int bits) {
    int shift = OB_GRID_BITS - bits;
    ob_sweep sweep = ob_start_sweep(g);
    ob_empty_cells(g, (1u << bits) + 1);
    OB_BY_CRITERION(ob_fill_grid, begin, n, shift);
    ob_sweep_cells(g, &sweep, 0, 0, (1u << bits) + 1, 0);
    if (!sweep.found)
        return sweep;
    uint32_t last = sweep.last, next = sweep.next, low = UINT32_MAX, high = 0;
    int64_t m = 0;
    for (int64_t i = 0; i < n; i++) {            /* all are written, and some stay */
        uint32_t key = g->grid[i], cell = key >> shift;
        g->keys[m] = ((uint64_t) key << 32) | (uint64_t) i;
        m += cell == last || cell == next;
    }
    for (int64_t i = 0; i < m; i++) {
        uint32_t key = (uint32_t) (g->keys[i] >> 32);
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    ob_sort_keys(g, m, low, high);
    sweep = ob_start_sweep(g);
    ob_sweep_cells(g, &sweep, 0, last, last, 0);
    ob_sweep_keys(g, &sweep, begin, m, UINT32_MAX);
    return sweep;
}

/* Tries the best cut along a direction that was drawn. */
static void ob_try_direction(ob_grower *g, int64_t begin, int64_t n, uint64_t *state, int cut_already) {
    const ob_forest *f = g->f;
    ob_best *best = &g->best;
    int64_t k = 2 + ob_below(state, f->most_terms - 1);
    if ((double) g->counted < f->rows_per_term * (double) k && cut_already)
        return;
    ob_draw_columns(g, k, state);
    int64_t n_terms = g->ask == NULL ? ob_fit_direction(g, begin, n, k, state)
                                     : g->ask(g->asked, begin, n, k, ob_mix(*state, 0));
    if (n_terms == 0)
        return;
    ob_project_rows(g, begin, n, n_terms);
    if (!ob_grid_places(g->along, g->grid, n))
        return;
    ob_sweep sweep = {0};
    int bits = ob_cell_bits(g, n);
    if (bits)
        sweep = ob_cut_cells(g, begin, n, bits);
    if (!sweep.found) {
        sweep = ob_start_sweep(g);
        ob_sort_rows(g, n, 0);
        ob_sweep_keys(g, &sweep, begin, n, UINT32_MAX);
    }
    if (ob_offer(g, &sweep, n_terms) < 2)
        return;
    best->kind = OB_DIRECTION;
    best->n_terms = n_terms;
    memcpy(best->term_column, g->drawn, (size_t) n_terms * sizeof(int32_t));
    memcpy(best->term_coef, g->coefs, (size_t) n_terms * sizeof(float));
    /* Which side a row is on is kept: canonical values need not be sorted again. */
    for (int64_t i = 0; i < n; i++)
        g->goes_right[i] = g->grid[i] > best->last;
}

#endif
