/* A tree with soft gates over rows of floats: values, gradients and steps of Adam.
 *
 * Plain C, so that the compiler makes several versions of each function (see loops.h). All sums
 * are added in the order that is written here: over columns in eight lanes, over rows in the order
 * of the batch. Rows are shared out among threads where each row writes into a place of its own,
 * and nodes where each node is summed by one thread, so the number of threads changes no bit.
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
#define OB_PREFETCH(address) __builtin_prefetch(address)
#else
#define OB_INLINE static inline
#define OB_PREFETCH(address) ((void) 0)
#endif

#define OB_NOBODY INT32_MIN    /* a child that hardly any of the row reaches */
#define OB_RARE 1e-3f          /* less of a row than this is not followed */

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
} ob_soft;

typedef struct {
    /* what each row of a batch has visited, in slots of `room` entries */
    int32_t *node;
    float *delta;
    int32_t *leaf;
    float *share;
    int32_t *n_node;
    int32_t *n_leaf;
    float *loss;
    int64_t room;
} ob_batch;

typedef struct {
    /* of one thread: the nodes of the row at hand */
    float *reach, *gate, *value, *leaf_reach, *leaf_value;
    int32_t *kid;
} ob_path;

typedef struct {
    float *g, *m, *v;          /* of the normals */
    float *ga, *ma, *va, *sum; /* of the logits; sum: of the shares of a leaf */
    const float *decay;        /* per node */
    const float *pulled;       /* per column: 1 where weights are pulled to 0 */
    const float *mask;         /* per weight: 0 where it stays 0; NULL: nowhere */
} ob_adam;

/* e^x to about 2 units in the last place, for x between -80 and 80; beyond, that of the limit. */
OB_INLINE float ob_exp(float x) {
    const float log2e = 1.44269504088896341f;
    float n, r, p;
    int32_t bits;
    x = x < -80.0f ? -80.0f : x > 80.0f ? 80.0f : x;
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
    return ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
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

/* Follows one row of a batch, its `place`-th, and notes its gradients in its slot. */
OB_INLINE void ob_soft_row(const ob_soft *s, const ob_batch *b, const ob_path *p, int64_t row,
                           int64_t place, float beta) {
    int32_t *node = b->node + place * b->room, *leaf = b->leaf + place * b->room;
    float *delta = b->delta + place * b->room, *share = b->share + place * b->room;
    const int32_t y = s->y[row];
    int32_t n = 1, n_leaf = 0;
    float d, v;
    node[0] = 0;
    p->reach[0] = 1.0f;
    for (int32_t k = 0; k < n; k++) {
        const float z = beta * ob_height(s, node[k], row);
        /* Beyond 30 a gate is open or shut; further out products would become too small. */
        const float g = 1.0f / (1.0f + ob_exp(z > 30.0f ? -30.0f : z < -30.0f ? 30.0f : -z));
        p->gate[k] = g;
        for (int side = 0; side < 2; side++) {
            const float r = p->reach[k] * (side ? g : 1.0f - g);
            const int32_t c = s->child[2 * (int64_t) node[k] + side];
            if (!(r > OB_RARE)) {
                p->kid[2 * k + side] = OB_NOBODY;
            } else if (c < 0) {
                leaf[n_leaf] = -1 - c;
                p->leaf_reach[n_leaf] = r;
                p->leaf_value[n_leaf] = s->q[(-1 - (int64_t) c) * s->depth + y];
                p->kid[2 * k + side] = -1 - n_leaf;
                n_leaf++;
            } else {
                node[n] = c;
                p->reach[n] = r;
                p->kid[2 * k + side] = n;
                n++;
            }
        }
    }
    for (int32_t k = n - 1; k >= 0; k--) {
        float side_value[2];
        for (int side = 0; side < 2; side++) {
            const int32_t c = p->kid[2 * k + side];
            side_value[side] = c == OB_NOBODY ? 0.0f : c < 0 ? p->leaf_value[-1 - c] : p->value[c];
        }
        p->value[k] = (1.0f - p->gate[k]) * side_value[0] + p->gate[k] * side_value[1];
        delta[k] = p->reach[k] * (side_value[1] - side_value[0]) * p->gate[k]
                   * (1.0f - p->gate[k]) * beta;
    }
    v = p->value[0] + s->floor;
    d = s->weight[row] / v;
    for (int32_t k = 0; k < n; k++)
        delta[k] *= -d;
    for (int32_t k = 0; k < n_leaf; k++)
        share[k] = d * p->leaf_reach[k] * p->leaf_value[k];
    b->n_node[place] = n;
    b->n_leaf[place] = n_leaf;
    b->loss[place] = -s->weight[row] * logf(v);
}

/* Rows first .. last - 1 of a batch of n rows. */
OB_VERSIONS static void ob_soft_rows(const ob_soft *s, const ob_batch *b, const ob_path *p,
                                     const int64_t *order, int64_t n, int64_t first, int64_t last,
                                     float beta) {
    for (int64_t i = first; i < last; i++) {
        if (i + 4 < n)
            OB_PREFETCH(s->x + order[i + 4] * s->stride);
        ob_soft_row(s, b, p, order[i], i, beta);
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

/* Gradients of the nodes first .. last - 1 from the whole batch, and a step of Adam. */
OB_VERSIONS static void ob_soft_nodes(const ob_soft *s, const ob_batch *b, const ob_adam *t,
                                      const int64_t *order, int64_t n, int32_t first,
                                      int32_t last, float share, float rate) {
    const int64_t width = s->width, stride = s->stride;
    memset(t->g + first * width, 0, (size_t) ((last - first) * width) * sizeof(float));
    for (int64_t i = 0; i < n; i++) {
        const int32_t *node = b->node + i * b->room;
        const float *delta = b->delta + i * b->room;
        const float *restrict x = s->x + order[i] * stride;
        for (int32_t k = 0; k < b->n_node[i]; k++) {
            float *restrict g = t->g + node[k] * width;
            const float d = delta[k];
            if (node[k] < first || node[k] >= last)
                continue;
            for (int64_t j = 0; j < stride; j += 8)
                for (int l = 0; l < 8; l++)
                    g[j + l] += d * x[j + l];
            if (s->more_ptr)
                for (int64_t j = s->more_ptr[order[i]]; j < s->more_ptr[order[i] + 1]; j++)
                    g[s->more[j]] += d;
        }
    }
    for (int32_t node = first; node < last; node++) {
        const int64_t at = node * width;
        float *restrict g = t->g + at, *restrict m = t->m + at;
        float *restrict v = t->v + at, *restrict w = s->w + at;
        const float decay = t->decay[node];
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
OB_VERSIONS static void ob_soft_leaves(const ob_soft *s, const ob_batch *b, const ob_adam *t,
                                       const int64_t *order, int64_t n, int32_t first,
                                       int32_t last, float share, float rate) {
    const int64_t depth = s->depth;
    memset(t->ga + first * depth, 0, (size_t) ((last - first) * depth) * sizeof(float));
    memset(t->sum + first, 0, (size_t) (last - first) * sizeof(float));
    for (int64_t i = 0; i < n; i++) {
        const int32_t y = s->y[order[i]];
        for (int64_t k = i * b->room; k < i * b->room + b->n_leaf[i]; k++) {
            if (b->leaf[k] < first || b->leaf[k] >= last)
                continue;
            t->ga[b->leaf[k] * depth + y] += b->share[k];
            t->sum[b->leaf[k]] += b->share[k];
        }
    }
    for (int32_t leaf = first; leaf < last; leaf++) {
        const int64_t at = leaf * depth;
        float *restrict g = t->ga + at, *restrict m = t->ma + at;
        float *restrict v = t->va + at, *restrict a = s->a + at;
        for (int64_t c = 0; c < depth; c++)
            g[c] = share * (t->sum[leaf] * s->q[at + c] - g[c]);
        for (int64_t c = 0; c < depth; c++)
            ob_step(a + c, m + c, v + c, g[c], rate);
        ob_softmax(s, leaf);
    }
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

/* The leaf of each row, if gates are hard; and for each node the sums of weight, height and its
 * square over the rows that reach it. */
OB_VERSIONS static void ob_soft_walk(const ob_soft *s, int64_t n, int32_t *leaf, double *sums) {
    for (int64_t row = 0; row < n; row++) {
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
    int32_t waiting, round, n, given_up;
} ob_barrier;

/* Returns when all n threads have come here, or when one has given up. */
static void ob_wait(ob_barrier *b) {
    int32_t round;
    if (b->n == 1)
        return;
    round = OB_LOAD(&b->round);
    if (OB_ADD(&b->waiting) == b->n) {
        OB_STORE(&b->waiting, 0);
        OB_STORE(&b->round, round + 1);
        return;
    }
    /* A batch takes some ten microseconds: to sleep would take longer. */
    for (int64_t spins = 0; OB_LOAD(&b->round) == round && !OB_LOAD(&b->given_up); spins++)
        if (spins > 2000)
            OB_YIELD();
}

#endif
