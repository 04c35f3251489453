/* One tree of a forest, from the root to its leaves, without the GIL.
 *
 * candidates.h says which cuts a node compares. What is drawn depends on the key of the node and on
 * what it is drawn for, so that neither threads nor the order of nodes change a tree. Rows stand in
 * an order of their content (see rows.py), and stay in it within a node: all sums are those of
 * doubles in that order, hence the same bits.
 *
 * The hyperplane that is kept has normals of 24 bits, and its threshold lies between canonical
 * values, as everywhere.
 */
#ifndef OBLIQUA_TREES_H
#define OBLIQUA_TREES_H

#include "candidates.h"

/* --- nodes ---------------------------------------------------------------------------------- */

static void *ob_grown(void *array, int64_t *room, int64_t wanted, size_t size, int *failed) {
    if (wanted <= *room)
        return array;
    int64_t more = 2 * *room > wanted ? 2 * *room : wanted;
    void *larger = realloc(array, (size_t) more * size);
    if (larger == NULL) {
        *failed = 1;
        return array;
    }
    *room = more;
    return larger;
}

#define OB_ROOM(g, array, room, wanted)                                                            \
    (g)->array = ob_grown((g)->array, &(g)->room, wanted, sizeof(*(g)->array), &(g)->failed)

/* Sums of the rows of a node; whether all are alike. */
static int ob_sum_node(ob_grower *g, int64_t begin, int64_t end) {
    const ob_forest *f = g->f;
    int32_t first = g->rows[begin].y, others = 0;
    int pure = 1;
    g->weight = 0;
    g->counted = 0;
    if (f->criterion != OB_SQUARES) {
        memset(g->sums, 0, (size_t) f->n_classes * sizeof(double));
        for (int64_t i = begin; i < end; i++) {
            g->sums[g->rows[i].y] += g->rows[i].w;
            g->counted += g->rows[i].times;
            others |= g->rows[i].y ^ first;
        }
        for (int32_t c = 0; c < f->n_classes; c++)
            g->weight += g->sums[c];
        return others == 0;
    }
    for (int64_t i = begin; i < end; i++) {
        g->weight += g->rows[i].w;
        g->counted += g->rows[i].times;
    }
    for (int32_t o = 0; o < f->n_outputs; o++) {
        double start = ob_number(f, g->rows[begin].row, o), sum = 0;
        for (int64_t i = begin; i < end; i++) {
            double off = ob_number(f, g->rows[i].row, o) - start;
            sum += g->rows[i].w * off;
            pure &= off == 0;
        }
        g->mean[o] = start + sum / g->weight;
        g->sums[o] = 0;
        for (int64_t i = begin; i < end; i++)
            g->sums[o] += g->rows[i].w * (ob_number(f, g->rows[i].row, o) - g->mean[o]);
    }
    return pure;
}

/* The same for a sparse column. */
static double ob_sparse_value(const ob_forest *f, int64_t row, int64_t column) {
    int64_t at = f->ptr[column], end = f->ptr[column + 1], last = end;
    while (at < last) {
        int64_t middle = (at + last) / 2;
        if (f->entry_row[middle] < row)
            at = middle + 1;
        else
            last = middle;
    }
    if (at == end || f->entry_row[at] != row)
        return 0.0;
    double value = f->entry_value[at];
    return value == value ? value : f->stand_in[column];
}

/* What a column has at a row: its value, the number of its level, or what stands in for it. */
OB_INLINE double ob_value(const ob_forest *f, int64_t row, int64_t column, int single, int coded) {
    if (coded)
        return f->x[row * f->p + column];        /* numbers of levels are floats */
    int64_t at = f->source[row] * f->row_stride + column * f->col_stride;
    double value = single ? ((const float *) f->z)[at] : ((const double *) f->z)[at];
    return value == value ? value : f->stand_in[column];
}

static int ob_is_coded(const ob_forest *f, int64_t column) {
    return f->level_ptr[column] < f->level_ptr[column + 1];
}

/* What a column has at the rows of a node. */
static void ob_read_column(ob_grower *g, int64_t begin, int64_t n, int64_t column,
                           double *values) {
    const ob_forest *f = g->f;
    const ob_member *rows = g->rows + begin;
    if (f->ptr != NULL) {
        int64_t m = ob_find_entries(g, begin, n, (int32_t) column);
        memset(values, 0, (size_t) n * sizeof(double));
        for (int64_t i = 0; i < m; i++) {
            double value = f->entry_value[g->entry[i]];
            values[g->found[i]] = value == value ? value : f->stand_in[column];
        }
    } else if (ob_is_coded(f, column))
        for (int64_t i = 0; i < n; i++)
            values[i] = ob_value(f, rows[i].row, column, 0, 1);
    else if (f->single)
        for (int64_t i = 0; i < n; i++)
            values[i] = ob_value(f, rows[i].row, column, 1, 0);
    else
        for (int64_t i = 0; i < n; i++)
            values[i] = ob_value(f, rows[i].row, column, 0, 0);
}

/* Adds a term to the values of rows; returns the variance of the term. Its sums have eight parts,
 * each of every eighth row. */
OB_VERSIONS static double ob_add_term(double *restrict values, const double *restrict own,
                                      const double *restrict w, int64_t n, double coef,
                                      double weight) {
    double first[OB_LANES] = {0}, second[OB_LANES] = {0}, start = coef * own[0];
    int64_t i = 0;
    for (; i + OB_LANES <= n; i += OB_LANES)
        for (int k = 0; k < OB_LANES; k++) {
            double v = coef * own[i + k], off = v - start;
            values[i + k] += v;
            first[k] += w[i + k] * off;
            second[k] += w[i + k] * off * off;
        }
    for (int k = 0; i < n; i++, k++) {
        double v = coef * own[i], off = v - start;
        values[i] += v;
        first[k] += w[i] * off;
        second[k] += w[i] * off * off;
    }
    for (int k = 1; k < OB_LANES; k++) {
        first[0] += first[k];
        second[0] += second[k];
    }
    return (second[0] - first[0] * (first[0] / weight)) / weight;
}

/* The largest value of rows that go left, and the least of those that go right. */
OB_VERSIONS static void ob_neighbours(const double *values, const uint8_t *goes_right, int64_t n,
                                      double *largest, double *least) {
    double below[OB_LANES], above[OB_LANES];
    for (int k = 0; k < OB_LANES; k++) {
        below[k] = -INFINITY;
        above[k] = INFINITY;
    }
    int64_t i = 0;
    for (; i + OB_LANES <= n; i += OB_LANES)
        for (int k = 0; k < OB_LANES; k++) {
            double on_left = goes_right[i + k] ? -INFINITY : values[i + k];
            double on_right = goes_right[i + k] ? values[i + k] : INFINITY;
            below[k] = on_left > below[k] ? on_left : below[k];
            above[k] = on_right < above[k] ? on_right : above[k];
        }
    for (; i < n; i++) {
        if (goes_right[i])
            above[0] = values[i] < above[0] ? values[i] : above[0];
        else
            below[0] = values[i] > below[0] ? values[i] : below[0];
    }
    *largest = below[0];
    *least = above[0];
    for (int k = 1; k < OB_LANES; k++) {
        *largest = below[k] > *largest ? below[k] : *largest;
        *least = above[k] < *least ? above[k] : *least;
    }
}

/* Whether both sides of a node that is divided have rows enough. */
static int ob_sides_allowed(const ob_grower *g, int64_t begin, int64_t n) {
    double weight = 0, least_weight = g->f->min_leaf_share * g->total;
    int64_t rows = 0, least_rows = g->f->min_leaf;
    if (least_rows <= 1 && least_weight == 0) {
        for (int64_t i = 0; i < n; i++)
            rows += g->goes_right[i];
        return rows > 0 && rows < n;
    }
    for (int64_t i = 0; i < n; i++) {
        rows += g->goes_right[i] ? g->rows[begin + i].times : 0;
        weight += g->goes_right[i] ? g->rows[begin + i].w : 0;
    }
    return rows > 0 && rows < g->counted && rows >= least_rows && g->counted - rows >= least_rows
           && weight >= least_weight && g->weight - weight >= least_weight;
}

/* Writes the terms of the best direction and finds its threshold between canonical values: those of
 * the largest row on the left and the least on the right. Rounding may have made them change places;
 * then what is not above the largest goes left. Whether both sides have rows enough. */
static int ob_place_direction(ob_grower *g, int64_t begin, int64_t n, ob_split *split) {
    const ob_forest *f = g->f;
    const ob_best *best = &g->best;
    double largest, least;
    double *values = g->values, *own = g->cells, *w = own + n;
    memset(values, 0, (size_t) n * sizeof(double));
    for (int64_t i = 0; i < n; i++)
        w[i] = g->rows[begin + i].w;
    for (int64_t a = 0; a < best->n_terms; a++) {
        int32_t column = best->term_column[a];
        double coef = ldexp(best->term_coef[a], -f->exponent[column]);
        ob_read_column(g, begin, n, column, own);
        double variance = ob_add_term(values, own, w, n, coef, g->weight);
        ob_term term = {coef, variance > 0 ? sqrt(variance) / fabs(coef) : 0.0, column};
        g->terms[split->first_term + a] = term;
    }
    ob_neighbours(values, g->goes_right, n, &largest, &least);
    if (!(largest - largest == 0 && least - least == 0))
        return 0;
    split->threshold = largest < least ? ob_midpoint(largest, least) : largest;
    for (int64_t i = 0; i < n; i++)
        g->goes_right[i] = values[i] > split->threshold;
    return ob_sides_allowed(g, begin, n);
}

/* Writes a cut of one column. */
static void ob_place_column(ob_grower *g, int64_t begin, int64_t n, ob_split *split) {
    const ob_forest *f = g->f;
    const ob_best *best = &g->best;
    int32_t column = best->column;
    ob_term term = {1.0, NAN, column};
    double weight = 0, below = 0, above = 0;
    int coded = ob_is_coded(f, column);
    int sparse = f->ptr != NULL;
    if (sparse)
        ob_fill_places(g, n, ob_find_entries(g, begin, n, column), column);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = g->rows[begin + i].row;
        int32_t r = sparse ? (int32_t) g->grid[i] - 1 : f->rank[row * f->p + column];
        uint32_t key = (uint32_t) r + 1;         /* 0 where it is missing */
        if (r < 0 && best->missing == OB_MISSING_RIGHT)
            key = OB_MISSING_KEY(f, column);
        g->goes_right[i] = key > best->last;
        weight += g->goes_right[i] ? g->rows[begin + i].w : 0;
        if (key == best->last)
            below = sparse ? ob_sparse_value(f, row, column)
                           : ob_value(f, row, column, f->single, coded);
        if (key == best->next)
            above = sparse ? ob_sparse_value(f, row, column)
                           : ob_value(f, row, column, f->single, coded);
    }
    split->missing = best->missing;
    if (best->missing == OB_STAND_IN && f->has_missing[column])
        split->missing = weight > g->weight - weight ? OB_MISSING_RIGHT : OB_MISSING_LEFT;
    split->threshold = ob_midpoint(below, above);
    if (best->next == OB_MISSING_KEY(f, column)) {       /* nothing but whether the value is there */
        term.coef = 0;
        split->threshold = 0;
    }
    g->terms[split->first_term] = term;
}

/* The best cut of a node's rows; whether there is one that is worth it. */
static int ob_search(ob_grower *g, const ob_node *node, int64_t n_oblique) {
    const ob_forest *f = g->f;
    ob_best *best = &g->best;
    int64_t begin = node->begin, n = node->end - begin, n_drawn = 0;
    double enough = g->impurity * (1.0 - OB_NO_GAIN);
    uint64_t state = ob_mix(node->key, 1);
    int cut = 0;
    best->kind = OB_NO_CUT;
    for (; n_drawn < f->p && (n_drawn < f->n_axis || (!cut && f->n_axis > 0)); n_drawn++) {
        int32_t column = ob_draw_column(g->columns, g->swaps, n_drawn, f->p, &state);
        cut |= ob_try_column(g, begin, n, column);
    }
    for (int64_t d = 0; d < n_oblique && f->most_terms > 1; d++) {
        uint64_t own = ob_mix(node->key, 2 + (uint64_t) d);
        ob_try_direction(g, begin, n, &own, cut);
    }
    for (; n_drawn < f->p && !(best->kind && best->priced < enough); n_drawn++) {
        int32_t column = ob_draw_column(g->columns, g->swaps, n_drawn, f->p, &state);
        ob_try_column(g, begin, n, column);
    }
    ob_put_back(g->columns, g->swaps, n_drawn);
    return best->kind && best->priced < enough
           && (g->impurity - best->left_over) / g->total >= f->min_decrease;
}

/* Makes room for one more split and its terms, or those of a direction; whether there is any. */
static int ob_make_room(ob_grower *g) {
    OB_ROOM(g, splits, room_splits, g->n_splits + 1);
    OB_ROOM(g, terms, room_terms, g->n_terms + (g->f->most_terms > 1 ? g->f->most_terms : 1));
    OB_ROOM(g, nodes, room_nodes, g->n_nodes + 2);
    OB_ROOM(g, open, room_open, g->n_open + 2);
    return !g->failed;
}

/* Divides the rows of a node as `goes_right` says; both sides keep their order. */
static int64_t ob_divide(ob_grower *g, int64_t begin, int64_t n) {
    ob_member *rows = g->rows + begin;
    int64_t left = 0, right = 0;
    for (int64_t i = 0; i < n; i++) {            /* both are written, and one stays */
        ob_member member = rows[i];
        int goes = g->goes_right[i];
        rows[left] = member;
        g->aside[right] = member;
        left += !goes;
        right += goes;
    }
    memcpy(rows + left, g->aside, (size_t) right * sizeof(ob_member));
    return begin + left;
}

/* Looks for the split of a node, and divides its rows; whether there is one. */
static int ob_find_split(ob_grower *g, int32_t at) {
    const ob_forest *f = g->f;
    ob_node *node = &g->nodes[at];
    int64_t begin = node->begin, n = node->end - begin;
    int pure = ob_sum_node(g, begin, node->end);
    if (pure || n < 2 || (f->max_depth >= 0 && node->depth >= f->max_depth)
        || g->counted < f->min_split || g->counted < 2 * f->min_leaf
        || g->weight < 2 * f->min_leaf_share * g->total)
        return 0;
    g->impurity = ob_node_impurity(g, begin, node->end);
    g->depth = node->depth;
    ob_note_places(g, begin, n);
    if (!ob_search(g, node, f->n_oblique))
        return 0;
    ob_split split = {0, g->n_terms, 1, OB_STAND_IN};
    if (g->best.kind == OB_DIRECTION && !ob_place_direction(g, begin, n, &split)
        && !ob_search(g, node, 0))               /* rows that floats tell apart, and sums do not */
        return 0;
    if (g->best.kind != OB_DIRECTION)
        ob_place_column(g, begin, n, &split);
    else
        split.n_terms = (int32_t) g->best.n_terms;
    g->n_terms += split.n_terms;
    g->splits[g->n_splits] = split;
    node->split = (int32_t) g->n_splits++;
    node->decrease = g->impurity - g->best.left_over;
    node->middle = ob_divide(g, begin, n);
    return 1;
}

/* Whether the node a is divided before the node b: the larger decrease first, then the older. */
static inline int ob_sooner(const ob_grower *g, int32_t a, int32_t b) {
    double one = g->nodes[a].decrease, other = g->nodes[b].decrease;
    return one != other ? one > other : a < b;
}

/* Adds a node; if it can be divided it waits for that: in a stack, or a heap with a limit on
 * leaves. */
static void ob_add_node(ob_grower *g, int64_t begin, int64_t end, int32_t depth, uint64_t key) {
    int32_t at = (int32_t) g->n_nodes++;
    ob_node node = {begin, end, key, 0.0, depth, -1, -1, begin};
    g->nodes[at] = node;
    if (!ob_find_split(g, at))
        return;
    int64_t place = g->n_open++;
    g->open[place] = at;
    if (g->f->max_leaves < 0)
        return;
    while (place > 0 && ob_sooner(g, at, g->open[(place - 1) / 2])) {
        g->open[place] = g->open[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    g->open[place] = at;
}

static int32_t ob_next_node(ob_grower *g) {
    if (g->f->max_leaves < 0)
        return g->open[--g->n_open];
    int32_t first = g->open[0], moved = g->open[--g->n_open];
    int64_t place = 0, below;
    while ((below = 2 * place + 1) < g->n_open) {
        if (below + 1 < g->n_open && ob_sooner(g, g->open[below + 1], g->open[below]))
            below++;
        if (!ob_sooner(g, g->open[below], moved))
            break;
        g->open[place] = g->open[below];
        place = below;
    }
    g->open[place] = moved;
    return first;
}

/* Grows the tree of `rows`, which have their weights; 0 if there is no memory. */
static int ob_grow_tree(ob_grower *g, uint64_t key) {
    const ob_forest *f = g->f;
    int64_t n_leaves = 1;
    g->n_nodes = g->n_splits = g->n_terms = g->n_open = 0;
    g->failed = 0;
    g->total = 0;
    g->n_sums = f->criterion == OB_SQUARES ? f->n_outputs + 1 : f->n_classes;
    g->width = g->n_sums + (f->min_leaf > 1);
    g->whole = 1;
    for (int64_t i = 0; i < g->n; i++) {
        g->total += g->rows[i].w;
        g->whole &= g->rows[i].w == floor(g->rows[i].w);
        if (f->criterion == OB_SQUARES)
            g->rows[i].number = ob_number(f, g->rows[i].row, 0);
        else
            g->rows[i].y = f->y[g->rows[i].row];
    }
    g->whole &= g->total <= OB_EXACT_SQUARES;
    if (!ob_make_room(g))
        return 0;
    ob_add_node(g, 0, g->n, 0, key);
    while (g->n_open > 0 && (f->max_leaves < 0 || n_leaves < f->max_leaves)) {
        int32_t at = ob_next_node(g);
        ob_node node = g->nodes[at];
        g->nodes[at].left = (int32_t) g->n_nodes;
        /* The room of two nodes, and of one split at a time. */
        if (!ob_make_room(g))
            return 0;
        ob_add_node(g, node.begin, node.middle, node.depth + 1, ob_child_key(node.key, 0));
        if (!ob_make_room(g))
            return 0;
        ob_add_node(g, node.middle, node.end, node.depth + 1, ob_child_key(node.key, 1));
        n_leaves++;
    }
    return 1;
}

#endif
