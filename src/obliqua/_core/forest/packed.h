/* Walking rows down many trees that are packed one after another.
 *
 * A block of rows goes through one tree after the other, so that the tree stays in the nearest
 * memory; eight rows move side by side, so that one can move while another waits.
 */
#ifndef OBLIQUA_PACKED_H
#define OBLIQUA_PACKED_H

#include <math.h>
#include <stdint.h>

#define OB_TOGETHER 8
#define OB_TINY 6.2230152778611417e-61 /* 2^-200 */

typedef struct {
    double threshold;
    int32_t child;             /* first of two, within the tree; -1 - leaf */
    int32_t column;            /* this column against the threshold; or -1 - plane */
} ob_step;

typedef struct {
    const ob_step *steps;
    const int64_t *node_ptr, *plane_ptr, *leaf_ptr; /* where each tree begins */
    const int64_t *term_ptr;   /* of all planes */
    const int32_t *term_column;
    const double *coef;
    const uint8_t *side;       /* of planes: where missing values go; NULL: none */
    const double *stand_in;    /* what a missing value counts elsewhere */
} ob_packed;

/* The value of a plane at a row; scale is 1, or small where terms overflow. */
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

/* Whether a row goes right at a plane. */
static int ob_plane_side(const ob_packed *f, int64_t plane, const double *row, double threshold) {
    if (f->side != NULL && f->side[plane])
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

/* The step of one row from a node that is no leaf. */
static inline int32_t ob_take_step(const ob_packed *f, const ob_step *step, int64_t tree,
                                   const double *row) {
    if (step->column < 0)
        return step->child
               + ob_plane_side(f, f->plane_ptr[tree] - 1 - step->column, row, step->threshold);
    double value = row[step->column];
    if (value != value)
        value = f->stand_in[step->column];
    return step->child + !(value <= step->threshold);
}

/* The node, within its tree, that each row of a block reaches; rows stand p apart. */
static void ob_walk_tree(const ob_packed *f, int64_t tree, const double *rows, int64_t p, int64_t n,
                         int32_t *reached) {
    const ob_step *steps = f->steps + f->node_ptr[tree];
    int64_t first = 0;
    for (; first < n; first += OB_TOGETHER) {
        int64_t some = n - first < OB_TOGETHER ? n - first : OB_TOGETHER;
        int32_t at[OB_TOGETHER] = {0};
        int moving = 1;
        while (moving) {
            moving = 0;
            for (int64_t r = 0; r < some; r++) {
                const ob_step *step = &steps[at[r]];
                if (step->child < 0)
                    continue;
                at[r] = ob_take_step(f, step, tree, rows + (first + r) * p);
                moving = 1;
            }
        }
        for (int64_t r = 0; r < some; r++)
            reached[first + r] = at[r];
    }
}

#endif
