/* Walking rows down many trees that are packed one after another.
 *
 * A block of rows goes through one tree after the other, so that the tree stays in the nearest
 * memory.
 */
#ifndef OBLIQUA_PACKED_H
#define OBLIQUA_PACKED_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define OB_BLOCK_ROWS 2048      /* rows that go through a tree together */
#define OB_GROUP 4             /* so many at a node are worth it */
#define OB_TINY 6.2230152778611417e-61 /* 2^-200 */

typedef struct {
    double threshold;
    int32_t child;             /* first of two, within the tree; -1 - leaf */
    int32_t column;            /* this column against the threshold; or -1 - plane */
} ob_step;

typedef struct {
    const ob_step *steps;
    const int64_t *node_ptr, *plane_ptr; /* where each tree begins */
    const int64_t *term_ptr;   /* of all planes */
    const int32_t *term_column;
    const double *coef;
    const uint8_t *side;       /* of planes: where missing values go */
    const double *stand_in;    /* what a missing value counts elsewhere */
} ob_packed;

/* The value of a plane at a row, with stand-ins; scale is 1, or small where terms overflow. */
static double ob_plane_value(const ob_packed *f, int64_t plane, const double *row, double scale) {
    double total = 0;
    for (int64_t k = f->term_ptr[plane]; k < f->term_ptr[plane + 1]; k++) {
        double v = row[f->term_column[k]];
        if (v != v)
            v = f->stand_in[f->term_column[k]];
        total += f->coef[k] * (v * scale);
    }
    return total;
}

/* Whether a row goes right at a plane where something is missing, or terms overflow. */
static int ob_slow_side(const ob_packed *f, int64_t plane, const double *row, double threshold) {
    if (f->side[plane])
        for (int64_t k = f->term_ptr[plane]; k < f->term_ptr[plane + 1]; k++)
            if (row[f->term_column[k]] != row[f->term_column[k]])
                return f->side[plane] - 1;
    double value = ob_plane_value(f, plane, row, 1.0);
    if (value != value) {
        value = ob_plane_value(f, plane, row, OB_TINY);
        threshold *= OB_TINY;
    }
    return !(value <= threshold);
}

/* The step of one row from a node that is no leaf; planes of its tree begin at `planes`. */
static inline int32_t ob_take_step(const ob_packed *f, const ob_step *step, int64_t planes,
                                   const double *row) {
    if (step->column >= 0) {
        double value = row[step->column];
        if (value != value)
            value = f->stand_in[step->column];
        return step->child + !(value <= step->threshold);
    }
    int64_t plane = planes - 1 - step->column;
    double value = 0;
    for (int64_t k = f->term_ptr[plane]; k < f->term_ptr[plane + 1]; k++)
        value += f->coef[k] * row[f->term_column[k]];
    if (value != value)
        return step->child + ob_slow_side(f, plane, row, step->threshold);
    return step->child + !(value <= step->threshold);
}

/* One row from a node to its leaf. */
static inline int32_t ob_walk_row(const ob_packed *f, const ob_step *steps, int64_t planes,
                                  const double *row, int32_t at) {
    while (steps[at].child >= 0)
        at = ob_take_step(f, &steps[at], planes, row);
    return at;
}

/* The node, within its tree, that each row of a block reaches; rows stand p apart. Rows go down
 * together as long as several are at a node: what it asks is then known for all but the first. */
static void ob_walk_tree(const ob_packed *f, int64_t tree, const double *rows, int64_t p, int64_t n,
                         int32_t *reached) {
    const ob_step *steps = f->steps + f->node_ptr[tree];
    int64_t planes = f->plane_ptr[tree], n_groups = 0;
    int32_t order[OB_BLOCK_ROWS], aside[OB_BLOCK_ROWS];
    struct { int32_t node, begin, end; } groups[OB_BLOCK_ROWS];
    for (int64_t r = 0; r < n; r++)
        order[r] = (int32_t) r;
    int32_t node = 0, begin = 0, end = (int32_t) n;
    for (;;) {
        if (end - begin < OB_GROUP || steps[node].child < 0) {
            for (int32_t i = begin; i < end; i++)
                reached[order[i]] = ob_walk_row(f, steps, planes, rows + order[i] * p, node);
            if (n_groups == 0)
                return;
            n_groups--;
            node = groups[n_groups].node;
            begin = groups[n_groups].begin;
            end = groups[n_groups].end;
            continue;
        }
        const ob_step *step = &steps[node];
        int32_t left = begin, right = 0;
        for (int32_t i = begin; i < end; i++) {  /* both are written, and one stays */
            int32_t row = order[i];
            int goes = ob_take_step(f, step, planes, rows + row * p) - step->child;
            order[left] = row;
            aside[right] = row;
            left += !goes;
            right += goes;
        }
        memcpy(order + left, aside, (size_t) right * sizeof(int32_t));
        groups[n_groups].node = step->child + 1; /* waits; it may be empty */
        groups[n_groups].begin = left;
        groups[n_groups].end = end;
        n_groups += end > left;
        end = left;
        node = step->child;
    }
}

#endif
