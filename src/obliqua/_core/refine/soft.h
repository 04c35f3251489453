/* A tree with soft gates over rows of floats: values, gradients and steps of Adam.
 *
 * Plain C, so that the compiler makes several versions of each function (see loops.h). All sums
 * are added in the order that is written here: over columns in eight lanes, over rows in the order
 * of the batch. Rows are shared out among threads, and each takes its rows down the tree node by
 * node; then nodes are, each summed by one thread over the rows of all. Large batches come in
 * blocks, always the same ones: each is summed by itself, by the thread that has its rows at hand,
 * and then the sums of the blocks are. So the number of threads changes no bit.
 *
 * Numbers are floats: the gates are soft, and the tree that comes out of it is counted anew with
 * doubles. There is an exponential of our own, because that of the system differs from one system
 * to the next, and because this one can be vectorised.
 */
#ifndef OBLIQUA_SOFT_H
#define OBLIQUA_SOFT_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "loops.h"

#if defined(__GNUC__)
#define OB_INLINE static inline __attribute__((always_inline))
#else
#define OB_INLINE static inline
#endif

#if defined(__GNUC__) && !defined(__clang__)
#define OB_UNROLL_8 _Pragma("GCC unroll 8")
#else
#define OB_UNROLL_8
#endif

#define OB_NOBODY INT32_MIN    /* a child that hardly any of the row reaches */
#define OB_RARE 1e-3f          /* less of a row than this is not followed */
/* A tree is small if its nodes times the floats of a row are no more than this. Measured with 64
 * rows, 10 to 64 columns and 2 to 64 leaves: up to half of it lists take 1.5 to 2 times as long, at
 * it as long or longer, and with 1,656 they are faster. */
#define OB_SMALL 1024

typedef struct {
    /* rows */
    const float *x;            /* n x stride: standardised columns, 1 for the constant, zeros */
    const int64_t *more_ptr;   /* further columns that are 1 in a row, as CSR rows; or NULL */
    const int32_t *more;
    const int32_t *y;
    const float *weight;
    int64_t stride;            /* a multiple of 8 */
    /* the tree */
    const int32_t *child;      /* two per node: a node, or -1 - leaf */
    float *w;                  /* n_nodes x width: normals; the first `stride` are those of x */
    float *a;                  /* n_leaves x depth: logits of the classes */
    float *q;                  /* their softmax */
    int64_t width;             /* multiples of 8 */
    int64_t depth;
    int32_t n_nodes, n_leaves, n_classes;
    float floor;               /* c in -log(v + c) */
    /* where numbers are learnt: what leaves say are linear functions */
    const float *number;       /* n x n_outputs: the numbers to learn; NULL: classes */
    const float *u;            /* n x u_stride: the columns of these functions, 1, zeros */
    float *line;               /* n_leaves x n_outputs x u_stride: the functions */
    int64_t u_stride;          /* a multiple of 8 */
    int64_t n_outputs;
    float narrow;              /* 1 / (2 s^2) in exp(-(y - f)^2 / (2 s^2)) */
} ob_soft;

typedef struct {
    /* The rows of one thread or block, node by node: those that reach it, in the order of the
     * batch. A node has capacity for `capacity` of them. In a small tree all rows stand at all
     * nodes and leaves, those that do not reach them with 0, and there are no lists. */
    int32_t *count, *leaf_count;
    int32_t *row;              /* its place in the batch */
    int32_t *kid;              /* two per row: its place in the list of each child, or nobody */
    float *reach, *gate, *value, *delta;
    int32_t *leaf_row;
    float *leaf_reach;
    float *leaf_value;         /* of numbers, or in a small tree: what the leaf says of the row */
    float *height, *left, *right; /* of the rows at one node, and what its sides say of them */
    int64_t capacity;              /* a multiple of 8 */
    float *x;                  /* of a small tree: the rows, eight beside each other; or NULL */
    float *g, *ga, *ga_sum;    /* of a block: its gradients; of lists: what was reached */
} ob_reached;

typedef struct {
    /* per row of a batch */
    float *pull;               /* its weight / (v + c) */
    float *loss;
    int32_t *y;
} ob_batch;

typedef struct {
    float *g, *m, *v;          /* of the normals */
    float *ga, *ma, *va;       /* of the logits */
    const float *decay;        /* per node */
    const float *pulled;       /* per column: 1 where weights are pulled to 0 */
    const float *mask;         /* per weight: 0 where it stays 0; NULL: nowhere */
} ob_adam;

/* No standardised number is so large. */
#define OB_FAR 1e30f

/* e^x to about 2 units in the last place, for x between -80 and 80; beyond, that of the limit. */
OB_INLINE float ob_exp(float x) {
    const float log2e = 1.44269504088896341f;
    float n, r, p;
    int32_t bits;
    x = x > -80.0f ? x : -80.0f;       /* so that NaN is no trouble for the cast below */
    x = x < 80.0f ? x : 80.0f;
    n = floorf(x * log2e + 0.5f);
    r = x - n * 0.693359375f;
    r = r + n * 2.12194440e-4f;
    p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    bits = ((int32_t) n + 127) << 23;
    memcpy(&n, &bits, 4);
    return p * n;
}

OB_INLINE float ob_dot(const float *restrict a, const float *restrict b, int64_t n) {
    float lane[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int64_t i = 0; i < n; i += 8)
        for (int k = 0; k < 8; k++)
            lane[k] += a[i + k] * b[i + k];
    return ((lane[0] + lane[4]) + (lane[1] + lane[5]))
           + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

/* w.x + b of a node at a row */
OB_INLINE float ob_height(const ob_soft *s, int64_t node, int64_t row) {
    const float *w = s->w + node * s->width;
    float z = ob_dot(w, s->x + row * s->stride, s->stride);
    if (s->more_ptr)
        for (int64_t k = s->more_ptr[row]; k < s->more_ptr[row + 1]; k++)
            z += w[s->more[k]];
    return z;
}

/* How open the gates of rows are. Eight at a time: what stands behind the last row is never looked
 * at. */
OB_INLINE void ob_gates(const float *restrict height, float beta, int32_t n,
                        float *restrict gate) {
    for (int64_t i = 0; i < n; i += 8)
        for (int k = 0; k < 8; k++) {
            /* Beyond 30 a gate is open or shut; further out products would become too small. */
            float z = -beta * height[i + k];
            z = z < 30.0f ? z : 30.0f;
            z = z > -30.0f ? z : -30.0f;
            gate[i + k] = 1.0f / (1.0f + ob_exp(z));
        }
}

/* Hands the rows of a node on to its child on one side, as far as they reach it. */
OB_INLINE void ob_hand_on(const ob_reached *p, int64_t at, int32_t n, int side, int32_t *row,
                          float *reach, int32_t *count) {
    int32_t have = 0;
    for (int64_t i = 0; i < n; i += 8)
        for (int k = 0; k < 8; k++) {
            const float g = p->gate[at + i + k];
            p->height[i + k] = p->reach[at + i + k] * (side ? g : 1.0f - g);
        }
    for (int32_t i = 0; i < n; i++) {
        const float r = p->height[i];
        const int there = r > OB_RARE;
        row[have] = p->row[at + i];        /* is written over, if it does not reach the child */
        reach[have] = r;
        p->kid[2 * (at + i) + side] = there ? have : OB_NOBODY;
        have += there;
    }
    *count = have;
}

/* Down the tree: which rows of the batch reach each node, and how open its gate is for them. */
OB_INLINE void ob_soft_down(const ob_soft *s, const ob_reached *p, const int64_t *order,
                            float beta) {
    for (int32_t m = 0; m < s->n_nodes; m++) {
        const int64_t at = m * p->capacity;
        const int32_t n = p->count[m];
        if (n == 0) {
            for (int side = 0; side < 2; side++) {
                const int32_t c = s->child[2 * (int64_t) m + side];
                *(c < 0 ? p->leaf_count + (-1 - c) : p->count + c) = 0;
            }
            continue;
        }
        for (int32_t i = 0; i < n; i++)
            p->height[i] = ob_height(s, m, order[p->row[at + i]]);
        ob_gates(p->height, beta, n, p->gate + at);
        for (int side = 0; side < 2; side++) {
            const int32_t c = s->child[2 * (int64_t) m + side];
            if (c < 0) {
                const int64_t to = (-1 - (int64_t) c) * p->capacity;
                ob_hand_on(p, at, n, side, p->leaf_row + to, p->leaf_reach + to,
                           p->leaf_count + (-1 - c));
            } else {
                const int64_t to = c * p->capacity;
                ob_hand_on(p, at, n, side, p->row + to, p->reach + to, p->count + c);
            }
        }
    }
}

/* How far a row is from what the functions of a leaf say, squared: a sum over the outputs. They
 * say nothing beyond low and high. */
OB_INLINE float ob_line_error(const ob_soft *s, const float *lines, int64_t leaf, int64_t row,
                              float low, float high) {
    const float *line = lines + leaf * s->n_outputs * s->u_stride;
    float sum = 0.0f;
    for (int64_t j = 0; j < s->n_outputs; j++, line += s->u_stride) {
        float value = ob_dot(line, s->u + row * s->u_stride, s->u_stride);
        value = value > low ? value : low;
        value = value < high ? value : high;
        value -= s->number[row * s->n_outputs + j];
        sum += value * value;
    }
    return sum;
}

/* How likely the leaves of numbers make their rows. */
OB_INLINE void ob_leaf_values(const ob_soft *s, const ob_reached *p, const int64_t *order) {
    for (int32_t leaf = 0; leaf < s->n_leaves; leaf++) {
        const int64_t at = leaf * p->capacity;
        const int32_t n = p->leaf_count[leaf];
        for (int32_t i = 0; i < n; i++)
            p->height[i] = -s->narrow * ob_line_error(s, s->line, leaf, order[p->leaf_row[at + i]],
                                                      -OB_FAR, OB_FAR);
        for (int64_t i = 0; i < n; i += 8)
            for (int k = 0; k < 8; k++)
                p->leaf_value[at + i + k] = ob_exp(p->height[i + k]);
    }
}

/* What one side of a node says of its rows: 0 of those that hardly reach it. */
OB_INLINE void ob_side_values(const ob_soft *s, const ob_batch *b, const ob_reached *p, int32_t m,
                              int side, float *restrict values) {
    const int64_t at = m * p->capacity;
    const int32_t c = s->child[2 * (int64_t) m + side], n = p->count[m];
    if (c < 0 && s->number) {
        const float *here = p->leaf_value + (-1 - (int64_t) c) * p->capacity;
        for (int32_t i = 0; i < n; i++) {
            const int32_t kid = p->kid[2 * (at + i) + side];
            values[i] = kid == OB_NOBODY ? 0.0f : here[kid];
        }
    } else if (c < 0) {
        const float *q = s->q + (-1 - (int64_t) c) * s->depth;
        for (int32_t i = 0; i < n; i++) {
            const float said = q[b->y[p->row[at + i]]];
            values[i] = p->kid[2 * (at + i) + side] == OB_NOBODY ? 0.0f : said;
        }
    } else {
        const float *below = p->value + c * p->capacity;
        for (int32_t i = 0; i < n; i++) {
            const int32_t kid = p->kid[2 * (at + i) + side];
            values[i] = kid == OB_NOBODY ? 0.0f : below[kid];
        }
    }
}

/* What a node says of its rows, from what its sides say, and the factors of its gradient. */
OB_INLINE void ob_values(const float *restrict reach, const float *restrict gate,
                         const float *restrict left, const float *restrict right, float beta,
                         int32_t n, float *restrict value, float *restrict delta) {
    for (int64_t i = 0; i < n; i += 8)
        for (int k = 0; k < 8; k++) {
            const float g = gate[i + k], l = left[i + k], r = right[i + k];
            value[i + k] = (1.0f - g) * l + g * r;
            delta[i + k] = reach[i + k] * (r - l) * g * (1.0f - g) * beta;
        }
}

/* Up again: the value of each node for its rows, and the factor of its gradient. */
OB_INLINE void ob_soft_up(const ob_soft *s, const ob_batch *b, const ob_reached *p, float beta) {
    for (int32_t m = s->n_nodes - 1; m >= 0; m--) {
        const int64_t at = m * p->capacity;
        const int32_t n = p->count[m];
        const float *restrict gate = p->gate + at, *restrict reach = p->reach + at;
        const float *restrict left = p->left, *restrict right = p->right;
        float *restrict value = p->value + at, *restrict delta = p->delta + at;
        if (n == 0)
            continue;
        ob_side_values(s, b, p, m, 0, p->left);
        ob_side_values(s, b, p, m, 1, p->right);
        ob_values(reach, gate, left, right, beta, n, value, delta);
    }
}

/* --- small trees -----------------------------------------------------------------------------
 *
 * Most rows reach most nodes of a small tree, and lists of those that do cost more than they save:
 * nobody can predict who is in them. So all rows stand at all nodes, without a branch, and those
 * that would not be in a list count 0. That changes no bit: to add 0 changes no sum. */

/* The rows of a batch, eight beside each other, so that eight heights are summed at once. */
OB_INLINE void ob_beside(const ob_soft *s, const int64_t *order, int32_t n, float *restrict x) {
    const int64_t stride = s->stride;
    for (int32_t i = 0; i < n; i++) {
        const float *restrict from = s->x + order[i] * stride;
        float *restrict to = x + (i & ~7) * stride + (i & 7);
        for (int64_t j = 0; j < stride; j++)
            to[8 * j] = from[j];
    }
}

/* One lane of `ob_dot` for eight rows that stand beside each other. */
OB_INLINE void ob_lane(const float *restrict w, const float *restrict x, int64_t n,
                       float *restrict sum) {
    float lane[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int64_t j = 0; j < n; j += 8)
        for (int r = 0; r < 8; r++)
            lane[r] += w[j] * x[8 * j + r];
    for (int r = 0; r < 8; r++)
        sum[r] = lane[r];
}

/* The same as `ob_height` of all rows. */
OB_INLINE void ob_heights(const ob_soft *s, int64_t node, const int64_t *order, int32_t n,
                          const float *restrict x, float *restrict height) {
    const float *w = s->w + node * s->width;
    float lane[8][8];
    for (int64_t i = 0; i < n; i += 8) {
        OB_UNROLL_8
        for (int k = 0; k < 8; k++)
            ob_lane(w + k, x + i * s->stride + 8 * k, s->stride, lane[k]);
        for (int r = 0; r < 8; r++)
            height[i + r] = ((lane[0][r] + lane[4][r]) + (lane[1][r] + lane[5][r]))
                            + ((lane[2][r] + lane[6][r]) + (lane[3][r] + lane[7][r]));
    }
    if (s->more_ptr)
        for (int32_t i = 0; i < n; i++)
            for (int64_t k = s->more_ptr[order[i]]; k < s->more_ptr[order[i] + 1]; k++)
                height[i] += w[s->more[k]];
}

/* How much of all rows reaches a child. */
OB_INLINE float *ob_reach_of(const ob_reached *p, int32_t c) {
    return c < 0 ? p->leaf_reach + (-1 - (int64_t) c) * p->capacity : p->reach + c * p->capacity;
}

/* Parts the rows of a node. */
OB_INLINE void ob_part(const float *restrict reach, const float *restrict gate, int32_t n,
                       float *restrict left, float *restrict right) {
    for (int64_t i = 0; i < n; i += 8)
        for (int k = 0; k < 8; k++) {
            const float g = gate[i + k];
            const float l = reach[i + k] * (1.0f - g), r = reach[i + k] * g;
            left[i + k] = l > OB_RARE ? l : 0.0f;
            right[i + k] = r > OB_RARE ? r : 0.0f;
        }
}

/* What one side of a node says of all rows: 0 of those that hardly reach it. */
OB_INLINE void ob_side_of_all(const ob_soft *s, const ob_reached *p, const int32_t *y, int32_t c,
                              int32_t n, float *restrict values) {
    if (c < 0) {
        const float *q = s->q + (-1 - (int64_t) c) * s->depth;
        const float *restrict reach = p->leaf_reach + (-1 - (int64_t) c) * p->capacity;
        float *restrict said = p->leaf_value + (-1 - (int64_t) c) * p->capacity;
        for (int32_t i = 0; i < n; i++)
            said[i] = q[y[i]];
        for (int64_t i = 0; i < n; i += 8)
            for (int k = 0; k < 8; k++)
                values[i + k] = reach[i + k] > 0.0f ? said[i + k] : 0.0f;
    } else {
        const float *restrict reach = p->reach + c * p->capacity;
        const float *restrict below = p->value + c * p->capacity;
        for (int64_t i = 0; i < n; i += 8)
            for (int k = 0; k < 8; k++)
                values[i + k] = reach[i + k] > 0.0f ? below[i + k] : 0.0f;
    }
}

/* Down a small tree and up again. */
OB_INLINE void ob_small_tree(const ob_soft *s, const ob_batch *b, const ob_reached *p,
                             const int64_t *order, int64_t first, int32_t n, float beta) {
    ob_beside(s, order + first, n, p->x);
    for (int32_t m = 0; m < s->n_nodes; m++) {
        const int64_t at = m * p->capacity;
        ob_heights(s, m, order + first, n, p->x, p->height);
        ob_gates(p->height, beta, n, p->gate + at);
        ob_part(p->reach + at, p->gate + at, n, ob_reach_of(p, s->child[2 * (int64_t) m]),
                ob_reach_of(p, s->child[2 * (int64_t) m + 1]));
    }
    for (int32_t m = s->n_nodes - 1; m >= 0; m--) {
        const int64_t at = m * p->capacity;
        ob_side_of_all(s, p, b->y + first, s->child[2 * (int64_t) m], n, p->left);
        ob_side_of_all(s, p, b->y + first, s->child[2 * (int64_t) m + 1], n, p->right);
        ob_values(p->reach + at, p->gate + at, p->left, p->right, beta, n, p->value + at,
                  p->delta + at);
    }
}

/* Adds rows to the gradient of a node of a small tree, once: `delta` becomes their factors. */
OB_INLINE void ob_small_node(const ob_soft *s, const ob_batch *b, const ob_reached *p,
                             const int64_t *order, int32_t node, float *restrict g) {
    const int32_t first = p->row[0], n = p->count[0];
    const float *restrict pull = b->pull + first;
    float *restrict delta = p->delta + node * p->capacity;
    for (int32_t i = 0; i < n; i++)
        delta[i] *= -pull[i];
    for (int64_t j = 0; j < s->stride; j += 8) {
        float lane[8];
        for (int l = 0; l < 8; l++)
            lane[l] = g[j + l];
        for (int32_t i = 0; i < n; i++) {
            const float d = delta[i];
            const float *restrict x = s->x + order[first + i] * s->stride + j;
            for (int l = 0; l < 8; l++)
                lane[l] += d * x[l];
        }
        for (int l = 0; l < 8; l++)
            g[j + l] = lane[l];
    }
    if (s->more_ptr)
        for (int32_t i = 0; i < n; i++) {
            const int64_t row = order[first + i];
            for (int64_t j = s->more_ptr[row]; j < s->more_ptr[row + 1]; j++)
                g[s->more[j]] += delta[i];
        }
}

/* 1 for one class of eight. */
static const float ob_class[8][8] = {
    {1, 0, 0, 0, 0, 0, 0, 0}, {0, 1, 0, 0, 0, 0, 0, 0}, {0, 0, 1, 0, 0, 0, 0, 0},
    {0, 0, 0, 1, 0, 0, 0, 0}, {0, 0, 0, 0, 1, 0, 0, 0}, {0, 0, 0, 0, 0, 1, 0, 0},
    {0, 0, 0, 0, 0, 0, 1, 0}, {0, 0, 0, 0, 0, 0, 0, 1},
};

/* Adds rows to the gradient of a leaf of a small tree, and to the sum, once: `leaf_value` becomes
 * what each adds. */
OB_INLINE float ob_small_leaf(const ob_soft *s, const ob_batch *b, const ob_reached *p,
                              int32_t leaf, float sum, float *restrict g) {
    const int32_t first = p->row[0], n = p->count[0];
    const float *restrict pull = b->pull + first;
    const float *restrict reach = p->leaf_reach + leaf * p->capacity;
    const int32_t *restrict y = b->y + first;
    float *restrict part = p->leaf_value + leaf * p->capacity;
    for (int32_t i = 0; i < n; i++)
        part[i] = pull[i] * reach[i] * part[i];
    if (s->depth == 8) {
        float lane[8];
        for (int l = 0; l < 8; l++)
            lane[l] = g[l];
        for (int32_t i = 0; i < n; i++) {
            const float *restrict mine = ob_class[y[i]];
            const float some = part[i];
            for (int l = 0; l < 8; l++)
                lane[l] += some * mine[l];
        }
        for (int l = 0; l < 8; l++)
            g[l] = lane[l];
    } else {
        for (int32_t i = 0; i < n; i++)
            g[y[i]] += part[i];
    }
    for (int32_t i = 0; i < n; i++)
        sum += part[i];
    return sum;
}

/* Rows first .. last - 1 of a batch. */
OB_VERSIONS static void ob_soft_rows(const ob_soft *s, const ob_batch *b, const ob_reached *p,
                                     const int64_t *order, int64_t first, int64_t last,
                                     float beta) {
    const int32_t n = (int32_t) (last - first);
    for (int32_t i = 0; i < n; i++) {
        const float *x = s->x + order[first + i] * s->stride;
        for (int64_t j = 0; j < s->stride; j += 16)
            OB_PREFETCH(x + j);
        p->row[i] = (int32_t) first + i;
        p->reach[i] = 1.0f;
        b->y[first + i] = s->number ? 0 : s->y[order[first + i]];
    }
    p->count[0] = n;
    if (p->x) {
        ob_small_tree(s, b, p, order, first, n, beta);
    } else {
        ob_soft_down(s, p, order, beta);
        if (s->number)
            ob_leaf_values(s, p, order);
        ob_soft_up(s, b, p, beta);
    }
    for (int32_t i = 0; i < n; i++) {
        const float weight = s->weight[order[first + i]], v = p->value[i] + s->floor;
        b->pull[first + i] = weight / v;
        b->loss[first + i] = -weight * logf(v);
    }
}

/* A step of Adam. Moments that fade away become 0: numbers that are too small for a float's usual
 * form take a processor a hundred times as long. */
OB_INLINE void ob_step(float *w, float *m, float *v, float g, float rate) {
    float first = 0.9f * *m + 0.1f * g, second = 0.999f * *v + 0.001f * (g * g);
    first = fabsf(first) < 1e-30f ? 0.0f : first;
    second = second < 1e-35f ? 0.0f : second;
    *m = first;
    *v = second;
    *w -= rate * first / (sqrtf(second) + 1e-9f);
}

/* The gradient of a node from the rows of all threads, one after another. */
OB_INLINE void ob_node_gradient(const ob_soft *s, const ob_batch *b, const ob_reached *threads,
                                int n_threads, const int64_t *order, int32_t node,
                                float *restrict g) {
    memset(g, 0, (size_t) s->width * sizeof(float));
    for (int t = 0; t < n_threads; t++) {
        const ob_reached *p = threads + t;
        const int64_t at = node * p->capacity;
        if (p->x) {
            ob_small_node(s, b, p, order, node, g);
            continue;
        }
        for (int32_t i = 0; i < p->count[node]; i++) {
            const int32_t place = p->row[at + i];
            const float d = -b->pull[place] * p->delta[at + i];
            const float *restrict x = s->x + order[place] * s->stride;
            for (int64_t j = 0; j < s->stride; j += 8)
                for (int l = 0; l < 8; l++)
                    g[j + l] += d * x[j + l];
            if (s->more_ptr)
                for (int64_t j = s->more_ptr[order[place]]; j < s->more_ptr[order[place] + 1]; j++)
                    g[s->more[j]] += d;
        }
    }
}

/* The gradient of a leaf, but for what is common to its classes, which is the sum. */
OB_INLINE float ob_leaf_gradient(const ob_soft *s, const ob_batch *b, const ob_reached *threads,
                                 int n_threads, int32_t leaf, float *restrict g) {
    const int64_t at = leaf * s->depth;
    float sum = 0.0f;
    memset(g, 0, (size_t) s->depth * sizeof(float));
    for (int k = 0; k < n_threads; k++) {
        const ob_reached *p = threads + k;
        if (p->x) {
            sum = ob_small_leaf(s, b, p, leaf, sum, g);
            continue;
        }
        for (int64_t i = leaf * p->capacity; i < leaf * p->capacity + p->leaf_count[leaf]; i++) {
            const int32_t place = p->leaf_row[i], y = b->y[place];
            const float part = b->pull[place] * p->leaf_reach[i] * s->q[at + y];
            g[y] += part;
            sum += part;
        }
    }
    return sum;
}

/* The gradients of one block, kept by itself. */
OB_VERSIONS static void ob_soft_block(const ob_soft *s, const ob_batch *b, const ob_reached *p,
                                      const int64_t *order) {
    for (int32_t node = 0; node < s->n_nodes; node++)
        if (p->x || p->count[node])
            ob_node_gradient(s, b, p, 1, order, node, p->g + node * s->width);
    for (int32_t leaf = 0; leaf < s->n_leaves; leaf++)
        if (p->x || p->leaf_count[leaf])
            p->ga_sum[leaf] = ob_leaf_gradient(s, b, p, 1, leaf, p->ga + leaf * s->depth);
}

/* The sum over blocks of what each has kept for a node. */
OB_INLINE void ob_sum_blocks(const ob_reached *blocks, int n_blocks, int32_t node, int64_t width,
                             float *restrict g) {
    memset(g, 0, (size_t) width * sizeof(float));
    for (int k = 0; k < n_blocks; k++) {
        const float *restrict part = blocks[k].g + node * width;
        if (blocks[k].x || blocks[k].count[node])
            for (int64_t j = 0; j < width; j++)
                g[j] += part[j];
    }
}

/* The same for a leaf. */
OB_INLINE float ob_sum_leaf_blocks(const ob_reached *blocks, int n_blocks, int32_t leaf,
                                   int64_t depth, float *restrict g) {
    float sum = 0.0f;
    memset(g, 0, (size_t) depth * sizeof(float));
    for (int k = 0; k < n_blocks; k++) {
        const float *restrict part = blocks[k].ga + leaf * depth;
        if (!blocks[k].x && blocks[k].leaf_count[leaf] == 0)
            continue;
        sum += blocks[k].ga_sum[leaf];
        for (int64_t c = 0; c < depth; c++)
            g[c] += part[c];
    }
    return sum;
}

/* Gradients of the nodes first .. last - 1 from the whole batch, and a step of Adam. What was
 * `reached` are the lists of threads, or blocks that have sums. */
OB_VERSIONS static void ob_soft_nodes(const ob_soft *s, const ob_batch *b,
                                      const ob_reached *reached, int n_lists,
                                      const ob_adam *t, const int64_t *order, int32_t first,
                                      int32_t last, float share, float rate) {
    const int64_t width = s->width;
    for (int32_t node = first; node < last; node++) {
        const int64_t at = node * width;
        float *restrict g = t->g + at, *restrict m = t->m + at;
        float *restrict v = t->v + at, *restrict w = s->w + at;
        const float decay = t->decay[node];
        if (reached->g)
            ob_sum_blocks(reached, n_lists, node, width, g);
        else
            ob_node_gradient(s, b, reached, n_lists, order, node, g);
        for (int64_t j = 0; j < width; j++)
            g[j] = share * g[j] + decay * (t->pulled[j] * w[j]);
        if (t->mask)
            for (int64_t j = 0; j < width; j++)
                g[j] *= t->mask[at + j];
        for (int64_t j = 0; j < width; j++)
            ob_step(w + j, m + j, v + j, g[j], rate);
    }
}

/* q = softmax(a) of a leaf */
OB_INLINE void ob_softmax(const ob_soft *s, int64_t leaf) {
    const float *a = s->a + leaf * s->depth;
    float *q = s->q + leaf * s->depth;
    float top = a[0], sum = 0.0f;
    for (int32_t c = 1; c < s->n_classes; c++)
        top = a[c] > top ? a[c] : top;
    for (int64_t c = 0; c < s->depth; c++)
        q[c] = ob_exp(a[c] - top);
    for (int32_t c = 0; c < s->n_classes; c++)
        sum += q[c];
    for (int32_t c = 0; c < s->n_classes; c++)
        q[c] /= sum;
    for (int64_t c = s->n_classes; c < s->depth; c++)
        q[c] = 0.0f;
}

OB_VERSIONS static void ob_soft_start(const ob_soft *s) {
    for (int32_t leaf = 0; leaf < s->n_leaves; leaf++)
        ob_softmax(s, leaf);
}

/* The same for leaves. */
OB_VERSIONS static void ob_soft_leaves(const ob_soft *s, const ob_batch *b,
                                       const ob_reached *reached, int n_lists,
                                       const ob_adam *t, int32_t first, int32_t last,
                                       float share, float rate) {
    const int64_t depth = s->depth;
    for (int32_t leaf = first; leaf < last; leaf++) {
        const int64_t at = leaf * depth;
        float *restrict g = t->ga + at, *restrict m = t->ma + at;
        float *restrict v = t->va + at, *restrict a = s->a + at;
        const float sum = reached->g ? ob_sum_leaf_blocks(reached, n_lists, leaf, depth, g)
                                     : ob_leaf_gradient(s, b, reached, n_lists, leaf, g);
        for (int64_t c = 0; c < depth; c++)
            g[c] = share * (sum * s->q[at + c] - g[c]);
        for (int64_t c = 0; c < depth; c++)
            ob_step(a + c, m + c, v + c, g[c], rate);
        ob_softmax(s, leaf);
    }
}

/* Adds a row with a weight to the sums of a leaf: of products of columns, in the lower triangle,
 * of products with each number, and of the squares of these. */
OB_INLINE void ob_line_add(const ob_soft *s, double *restrict sums, int64_t at, double weight) {
    const int64_t stride = s->u_stride, n_outputs = s->n_outputs;
    const float *restrict u = s->u + at * stride, *restrict number = s->number + at * n_outputs;
    double *restrict with = sums + stride * stride;
    for (int64_t j = 0; j < stride; j++) {
        const double w = weight * (double) u[j];
        double *restrict row = sums + j * stride;
        for (int64_t k = 0; k <= j; k += 8)
            for (int l = 0; l < 8; l++)
                row[k + l] += w * (double) u[k + l];
        for (int64_t k = 0; k < n_outputs; k++)
            with[k * stride + j] += w * (double) number[k];
    }
    for (int64_t k = 0; k < n_outputs; k++)
        with[n_outputs * stride] += weight * (double) number[k] * (double) number[k];
}

/* Less of a row than this share is left out of the sums of a line. */
#define OB_LITTLE 1e-2f

/* Adds the rows of a batch to the sums of the leaves first .. last - 1. */
OB_VERSIONS static void ob_soft_lines(const ob_soft *s, const ob_batch *b,
                                      const ob_reached *reached, int n_lists,
                                      const int64_t *order, int32_t first, int32_t last,
                                      double *sums, int64_t size) {
    for (int32_t leaf = first; leaf < last; leaf++)
        for (int k = 0; k < n_lists; k++) {
            const ob_reached *p = reached + k;
            const int64_t at = leaf * p->capacity;
            for (int64_t i = at; i < at + p->leaf_count[leaf]; i++) {
                const int64_t row = order[p->leaf_row[i]];
                const float part = b->pull[p->leaf_row[i]] * p->leaf_reach[i] * p->leaf_value[i];
                if (part > OB_LITTLE * s->weight[row])
                    ob_line_add(s, sums + leaf * size, row, (double) part);
            }
        }
}

/* Adds rows first .. last - 1, each to the line of the leaf that it is in. */
OB_VERSIONS static void ob_hard_lines(const ob_soft *s, const int32_t *leaf, int64_t first,
                                      int64_t last, double *sums, int64_t size) {
    for (int64_t row = first; row < last; row++)
        ob_line_add(s, sums + leaf[row] * size, row, (double) s->weight[row]);
}

/* The side of rows first .. last - 1 at all nodes: bit m of a row is 1 if it goes right at m. */
OB_VERSIONS static void ob_soft_sides(const ob_soft *s, int64_t first, int64_t last,
                                      uint8_t *bits, int64_t bytes) {
    for (int64_t row = first; row < last; row++) {
        uint8_t *here = bits + row * bytes;
        memset(here, 0, (size_t) bytes);
        for (int32_t m = 0; m < s->n_nodes; m++)
            here[m >> 3] |= (uint8_t) ((ob_height(s, m, row) > 0.0f) << (m & 7));
    }
}

/* The leaf of rows first .. last - 1, if gates are hard; and for each node the sums of weight,
 * height and its square over those that reach it. */
OB_VERSIONS static void ob_soft_walk(const ob_soft *s, int64_t first, int64_t last, int32_t *leaf,
                                     double *sums) {
    for (int64_t row = first; row < last; row++) {
        const double weight = s->weight[row];
        int32_t at = s->n_nodes ? 0 : -1;
        while (at >= 0) {
            const float z = ob_height(s, at, row);
            double *here = sums + 3 * (int64_t) at;
            here[0] += weight;
            here[1] += weight * (double) z;
            here[2] += weight * ((double) z * (double) z);
            at = s->child[2 * (int64_t) at + (z > 0.0f)];
        }
        leaf[row] = -1 - at;
    }
}

/* How often the distance from a split is halved, see below. */
#define OB_HALVINGS 6

/* The weight of rows first .. last - 1 on each side of the nodes that they reach, by how near to
 * the split they are: cell 0 has those beyond `near`, 1 those within, 2 within half of it, ... */
OB_VERSIONS static void ob_soft_nearness(const ob_soft *s, int64_t first, int64_t last,
                                         const int64_t *units, float near, int64_t *cells) {
    for (int64_t row = first; row < last; row++) {
        int32_t at = s->n_nodes ? 0 : -1;
        while (at >= 0) {
            const float z = ob_height(s, at, row);
            const int side = z > 0.0f;
            float limit = near;
            int64_t cell = 0;
            for (; cell < OB_HALVINGS + 1 && fabsf(z) < limit; cell++)
                limit *= 0.5f;
            cells[(2 * (int64_t) at + side) * (OB_HALVINGS + 2) + cell] += units[row];
            at = s->child[2 * (int64_t) at + side];
        }
    }
}

/* --- threads that wait for each other ------------------------------------------------------- */

#if defined(_MSC_VER)
#include <windows.h>
#define OB_ADD(place) (InterlockedIncrement((volatile long *) (place)))
#define OB_LOAD(place) (InterlockedCompareExchange((volatile long *) (place), 0, 0))
#define OB_STORE(place, value) (InterlockedExchange((volatile long *) (place), (long) (value)))
#define OB_YIELD() SwitchToThread()
#else
#include <sched.h>
#define OB_ADD(place) (__atomic_add_fetch(place, 1, __ATOMIC_ACQ_REL))
#define OB_LOAD(place) (__atomic_load_n(place, __ATOMIC_ACQUIRE))
#define OB_STORE(place, value) (__atomic_store_n(place, value, __ATOMIC_RELEASE))
#define OB_YIELD() sched_yield()
#endif

typedef struct {
    char before[64];           /* nothing else in the lines of memory that threads watch */
    int32_t waiting, round, n, given_up;
    char behind[64];
} ob_barrier;

/* Returns when all n threads have come here: 1; or when one has given up: 0. What the others have
 * noted is then not to be read. */
static int ob_wait(ob_barrier *b) {
    int32_t round;
    if (b->n == 1)
        return 1;
    round = OB_LOAD(&b->round);
    if (OB_ADD(&b->waiting) == b->n) {
        OB_STORE(&b->waiting, 0);
        OB_STORE(&b->round, round + 1);
        return !OB_LOAD(&b->given_up);
    }
    /* A batch takes some ten microseconds: to sleep would take longer. */
    for (int64_t spins = 0; OB_LOAD(&b->round) == round && !OB_LOAD(&b->given_up); spins++)
        if (spins > 2000)
            OB_YIELD();
    return !OB_LOAD(&b->given_up);
}

static void ob_give_up(ob_barrier *b) {
    OB_STORE(&b->given_up, 1);
}

#endif
