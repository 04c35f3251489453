/* The innermost loops, in plain C so that the compiler can make several versions of them.
 *
 * Each version gives the same bits: sums that could be rounded are added in the order that is
 * written here, and there is no contraction of a*b+c (see meson.build). With gcc on Linux a
 * version for processors with AVX2 is made too and chosen when the module is loaded; elsewhere
 * the plain one serves.
 */
#ifndef OBLIQUA_LOOPS_H
#define OBLIQUA_LOOPS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Asks for memory that will be wanted soon. */
#if defined(__GNUC__)
#define OB_PREFETCH(address) __builtin_prefetch(address)
#else
#define OB_PREFETCH(address) ((void) (address))
#endif

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) \
    && !defined(__SANITIZE_ADDRESS__)
#define OB_VERSIONS __attribute__((target_clones("avx2", "default")))
#else
#define OB_VERSIONS
#endif

#define OB_LANES 8
#define OB_ROWS 1024
#define OB_BLOCK 32 /* a sum of 32 products of two 24-bit numbers is exact in a double */

/* sum[i] += factor * (scale * x[i]), size[i] += |the same| */
OB_VERSIONS static void ob_add_terms(double *sum, double *size, const double *x, double scale,
                                     double factor, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        double term = factor * (scale * x[i]);
        sum[i] += term;
        size[i] += term < 0 ? -term : term;
    }
}

/* Replaces the lower triangle of A by L, A = L L', and the upper one by L' without the diagonal;
 * 0 if A is not positive definite. What is taken off an entry is taken off in the order of the
 * columns; L' stands beside it so that many entries can be served at once. */
OB_VERSIONS static int ob_factorise(double *matrix, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        double *restrict row = matrix + i * n;
        for (int64_t k = 0; k < i; k++) {
            double *restrict other = matrix + k * n;
            const double l = row[k] / other[k];
            row[k] = l;
            for (int64_t j = k + 1; j < i; j++)
                row[j] -= l * other[j];
            row[i] -= l * l;
            other[i] = l;
        }
        if (!(row[i] > 0))
            return 0;
        row[i] = sqrt(row[i]);
    }
    return 1;
}

/* Replaces a vector b by the solution of L x = b, given what ob_factorise leaves. */
OB_VERSIONS static void ob_solve_lower(const double *factor, int64_t n, double *restrict vector) {
    for (int64_t k = 0; k < n; k++) {
        const double *restrict row = factor + k * n;
        const double x = vector[k] / row[k];
        vector[k] = x;
        for (int64_t i = k + 1; i < n; i++)
            vector[i] -= x * row[i];
    }
}

/* The same for L' x = b. */
static void ob_solve_upper(const double *factor, int64_t n, double *vector) {
    for (int64_t i = n - 1; i >= 0; i--) {
        double s = vector[i];
        for (int64_t k = i + 1; k < n; k++)
            s -= factor[k * n + i] * vector[k];
        vector[i] = s / factor[i * n + i];
    }
}

/* Smallest and largest of some numbers: low and high hold a start. */
OB_VERSIONS static void ob_range(const double *z, int64_t n, double *low, double *high) {
    double lo[OB_LANES], hi[OB_LANES];
    int64_t i = 0;
    for (int k = 0; k < OB_LANES; k++) {
        lo[k] = *low;
        hi[k] = *high;
    }
    for (; i + OB_LANES <= n; i += OB_LANES)
        for (int k = 0; k < OB_LANES; k++) {
            lo[k] = z[i + k] < lo[k] ? z[i + k] : lo[k];
            hi[k] = z[i + k] > hi[k] ? z[i + k] : hi[k];
        }
    for (; i < n; i++) {
        lo[0] = z[i] < lo[0] ? z[i] : lo[0];
        hi[0] = z[i] > hi[0] ? z[i] : hi[0];
    }
    for (int k = 0; k < OB_LANES; k++) {
        *low = lo[k] < *low ? lo[k] : *low;
        *high = hi[k] > *high ? hi[k] : *high;
    }
}

/* The same for four columns, one after the other in each row. */
OB_VERSIONS static void ob_add_four(double *restrict sum, double *restrict size,
                                    const double *const *x, const double *factor, int64_t n) {
    const double *a = x[0], *b = x[1], *c = x[2], *d = x[3];
    const double fa = factor[0], fb = factor[1], fc = factor[2], fd = factor[3];
    for (int64_t i = 0; i < n; i++) {
        const double ta = fa * a[i], tb = fb * b[i], tc = fc * c[i], td = fd * d[i];
        sum[i] = (((sum[i] + ta) + tb) + tc) + td;
        size[i] = (((size[i] + (ta < 0 ? -ta : ta)) + (tb < 0 ? -tb : tb)) + (tc < 0 ? -tc : tc))
                  + (td < 0 ? -td : td);
    }
}

/* The same without sizes, with scales: sum[i] += coef * (scale * x[i]) for four columns x in turn. */
OB_VERSIONS static void ob_sum_four(double *restrict sum, const double *const *x,
                                    const double *coef, const double *scale, int64_t n) {
    const double *a = x[0], *b = x[1], *c = x[2], *d = x[3];
    const double fa = coef[0], fb = coef[1], fc = coef[2], fd = coef[3];
    const double sa = scale[0], sb = scale[1], sc = scale[2], sd = scale[3];
    for (int64_t i = 0; i < n; i++)
        sum[i] = (((sum[i] + fa * (sa * a[i])) + fb * (sb * b[i])) + fc * (sc * c[i]))
                 + fd * (sd * d[i]);
}

OB_VERSIONS static void ob_sum_one(double *restrict sum, const double *x, double coef,
                                   double scale, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        sum[i] += coef * (scale * x[i]);
}

/* Sums of coef[k] * (scale[k] * column idx[k]), row by row; returns the largest sum of |terms|. A
 * block of rows after the other, so that its sums stay in the nearest cache. scale NULL: 1. */
static double ob_project(double *sum, const double *columns, int64_t n, const int32_t *idx,
                         const double *coef, const double *scale, int64_t n_coef) {
    double size[OB_ROWS], least = 0, largest = 0;
    for (int64_t start = 0; start < n; start += OB_ROWS) {
        int64_t rows = n - start < OB_ROWS ? n - start : OB_ROWS;
        memset(sum + start, 0, rows * sizeof(double));
        memset(size, 0, rows * sizeof(double));
        int64_t k = 0;
        for (; !scale && k + 4 <= n_coef; k += 4) {
            const double *x[4];
            for (int j = 0; j < 4; j++)
                x[j] = columns + idx[k + j] * n + start;
            ob_add_four(sum + start, size, x, coef + k, rows);
        }
        for (; k < n_coef; k++)
            ob_add_terms(sum + start, size, columns + idx[k] * n + start,
                         scale ? scale[idx[k]] : 1, coef[k], rows);
        ob_range(size, rows, &least, &largest);
    }
    return largest;
}

/* z[i] = scale * x[i] + factor * along[i] */
OB_VERSIONS static void ob_reflect(double *z, const double *x, const double *along, double scale,
                                   double factor, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        z[i] = scale * x[i] + factor * along[i];
}

/* Where a row crosses a hyperplane that turns: it is on its right side where the value v + d * z is
 * above 0. With z >= 0 it gets there as d grows, at d = -v / z. t = d / (scale + |d|) is between -1
 * and 1 and grows with d. Rows with z = 0 never cross: -1 on the right side, 1 on the left one. */
OB_VERSIONS static void ob_crossings(double *t, const double *v, const double *z, double scale,
                                     int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        double size = v[i] < 0 ? -v[i] : v[i], q = size + scale * z[i];
        t[i] = q > 0 ? -v[i] / q : 1;
    }
}

/* The same where all rows cross at -v / 1: a hyperplane that is shifted. */
OB_VERSIONS static void ob_shifts(double *t, const double *v, double scale, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        double size = v[i] < 0 ? -v[i] : v[i];
        t[i] = -v[i] / (size + scale);
    }
}

/* The same for numbers of any sign: with w < 0 a row leaves the right side as d grows. */
OB_VERSIONS static void ob_swings(double *t, uint8_t *leaves, const double *v, const double *w,
                                  double scale, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        double size = v[i] < 0 ? -v[i] : v[i], reach = w[i] < 0 ? -w[i] : w[i];
        double q = size + scale * reach, at = q > 0 ? -v[i] / q : 1;
        t[i] = w[i] < 0 ? -at : at;
        leaves[i] = w[i] < 0;
    }
}

/* v[i] += d * z[i] */
OB_VERSIONS static void ob_add_multiple(double *v, const double *z, double d, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        v[i] += d * z[i];
}

/* Adds the products of eight columns z with themselves, times a factor each, to the lower triangle
 * of an n x n matrix: one column after the other in each entry. */
#define OB_TOGETHER 8

OB_VERSIONS static void ob_add_outer(double *restrict matrix, const double *restrict z,
                                     const double *factor, int64_t n) {
    const double *a = z, *b = a + n, *c = b + n, *d = c + n;
    const double *e = d + n, *f = e + n, *g = f + n, *h = g + n;
    for (int64_t i = 0; i < n; i++) {
        double *restrict row = matrix + i * n;
        const double ta = factor[0] * a[i], tb = factor[1] * b[i], tc = factor[2] * c[i];
        const double td = factor[3] * d[i], te = factor[4] * e[i], tf = factor[5] * f[i];
        const double tg = factor[6] * g[i], th = factor[7] * h[i];
        for (int64_t j = 0; j <= i; j++) {
            double sum = (((row[j] + ta * a[j]) + tb * b[j]) + tc * c[j]) + td * d[j];
            row[j] = (((sum + te * e[j]) + tf * f[j]) + tg * g[j]) + th * h[j];
        }
    }
}

/* v[i] += d */
OB_VERSIONS static void ob_add_constant(double *v, double d, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        v[i] += d;
}

/* How many numbers are above another. */
OB_VERSIONS static int64_t ob_count_above(const double *v, double at, int64_t n) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += v[i] > at;
    return count;
}

/* The bin of each number: (z - low) * scale, brought into 0 .. last. Never decreasing in z. */
OB_VERSIONS static void ob_places(const double *z, int32_t *place, int64_t n, double low,
                                  double scale, double last) {
    for (int64_t i = 0; i < n; i++) {
        double at = (z[i] - low) * scale;
        at = at > 0 ? at : 0;
        at = at < last ? at : last;
        place[i] = (int32_t) at;
    }
}

/* Rows that are looked at together where products of columns are added up. */
#define OB_BEND 64

/* One column of a block of rows for products: x in units of the grid about its centre, taken off
 * `rest` as far as `fit` explains it, and in whole steps, none beyond `far`, in u. */
OB_VERSIONS static void ob_bend_column(double *restrict u, double *restrict rest, const double *x,
                                       double shift, double unit, double centre, double fit,
                                       double steps, double far, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const double z = (x[i] - shift) * unit - centre;
        double step = rint(z * steps);
        rest[i] -= fit * z;
        step = step < far ? step : far;
        u[i] = step > -far ? step : -far;
    }
}

/* Adds the products of all pairs of columns of a block to the lower triangle of `sums`, times w.
 * All are whole numbers below 2^53 in sum, so that their order does not matter. What stands behind
 * the last row of a block is 0. */
OB_VERSIONS static void ob_bend_products(double *restrict sums, const double *u, const double *w,
                                         int64_t p) {
    double weighed[OB_BEND];
    for (int64_t j = 0; j < p; j++) {
        for (int i = 0; i < OB_BEND; i++)
            weighed[i] = w[i] * u[j * OB_BEND + i];
        for (int64_t k = 0; k <= j; k++) {
            double lane[4] = {0.0, 0.0, 0.0, 0.0};
            for (int i = 0; i < OB_BEND; i += 4)
                for (int l = 0; l < 4; l++)
                    lane[l] += weighed[i + l] * u[k * OB_BEND + i + l];
            sums[j * p + k] += (lane[0] + lane[1]) + (lane[2] + lane[3]);
        }
    }
}

/* q[i] = (x[i] - shift) * scale, rounded to a whole number of at most 2^24. */
OB_VERSIONS static void ob_whole(double *q, const double *x, double shift, double scale,
                                 int64_t n) {
    const double rounder = 6755399441055744.0; /* 1.5 * 2^52 */
    for (int64_t i = 0; i < n; i++)
        q[i] = ((x[i] - shift) * scale + rounder) - rounder;
}

/* The sum of up to 32 products of a whole number of 24 bits and one of 26: eight of them are exact
 * in a double. Each of four sums has no more. */
OB_VERSIONS static int64_t ob_whole_products(const double *q, const double *y, int64_t n) {
    double lane[4] = {0, 0, 0, 0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int l = 0; l < 4; l++)
            lane[l] += q[i + l] * y[i + l];
    for (int l = 0; i < n; i++, l++)
        lane[l] += q[i] * y[i];
    return ((int64_t) lane[0] + (int64_t) lane[1]) + ((int64_t) lane[2] + (int64_t) lane[3]);
}

/* Exact sums of products of up to 32 whole numbers (n of them, a multiple of 8): row k of q
 * times rows 0 .. k. No order of adding changes a sum that is exact, but compilers cannot know
 * that it is; where there are vectors to write it with, it is written with them. */
#if defined(__GNUC__)
typedef double ob_vector __attribute__((vector_size(32), aligned(8), may_alias));

OB_VERSIONS static void ob_products(const double *q, int64_t k, int64_t n, double *out) {
    const double *mine = q + k * OB_BLOCK;
    for (int64_t j = 0; j <= k; j += 2) { /* two rows at a time, for fewer loads */
        const double *one = q + j * OB_BLOCK;
        const double *two = q + (j < k ? j + 1 : j) * OB_BLOCK;
        ob_vector a = {0, 0, 0, 0}, b = a, c = a, d = a;
        for (int64_t i = 0; i < n; i += OB_LANES) {
            ob_vector x = *(const ob_vector *) (mine + i);
            ob_vector y = *(const ob_vector *) (mine + i + 4);
            a += x * *(const ob_vector *) (one + i);
            b += y * *(const ob_vector *) (one + i + 4);
            c += x * *(const ob_vector *) (two + i);
            d += y * *(const ob_vector *) (two + i + 4);
        }
        a += b;
        c += d;
        out[j] = (a[0] + a[1]) + (a[2] + a[3]);
        if (j < k)
            out[j + 1] = (c[0] + c[1]) + (c[2] + c[3]);
    }
}
#else
static void ob_products(const double *q, int64_t k, int64_t n, double *out) {
    const double *mine = q + k * OB_BLOCK;
    for (int64_t j = 0; j <= k; j++) {
        const double *other = q + j * OB_BLOCK;
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += mine[i] * other[i];
        out[j] = sum;
    }
}
#endif

/* Twoing over the bins of one class: adds |excess| at the upper end of each bin to `edge`, and
 * the largest |excess| of any cut inside the bin to `inside`.
 *
 * left: rows of the class up to the bin's lower end, here: in the bin, before: rows of all
 * classes up to the lower end, all: rows of all classes in the bin. An excess is
 * (left of the class) * n - total * (left of all), exact in a double for n below 2^26. `squares`: adds
 * squares of both, for gini.
 */
OB_VERSIONS static void ob_excess(const int32_t *left, const int32_t *here, const int32_t *before,
                                  const int32_t *all, int64_t n_bins, double n, double total,
                                  int squares, double *edge, double *inside) {
    const double others = n - total;
    for (int64_t b = 0; b < n_bins; b++) {
        double h = here[b], rest = (double) all[b] - h;
        double low = (double) left[b] * n - total * (double) before[b];
        double up = low + h * others;    /* all rows of the class left, no others */
        double down = total * rest - low; /* minus the excess with only the others left */
        double end = up - total * rest;
        double most = up > down ? up : down;
        edge[b] += squares ? end * end : end < 0 ? -end : end;
        inside[b] += squares ? most * most : most;
    }
}

/* As ob_excess, where rows of a bin may also leave the side that is counted. right: rows of the class on
 * that side at the bin's lower end, up and down: rows that come and go inside; all_*: of all classes.
 * Adds |excess| at the lower end to `edge`, and the largest |excess| that any set of comings and
 * goings could give to `inside`. */
OB_VERSIONS static void ob_swing_excess(const int32_t *right, const int32_t *up,
                                        const int32_t *down, const int32_t *all_right,
                                        const int32_t *all_up, const int32_t *all_down,
                                        int64_t n_bins, double n, double total, double *edge,
                                        double *inside) {
    for (int64_t b = 0; b < n_bins; b++) {
        double r = right[b], u = up[b], d = down[b], all = all_right[b];
        double here = r * n - total * all;
        double most = here + u * (n - total) + total * ((double) all_down[b] - d);
        double least = here - d * (n - total) - total * ((double) all_up[b] - u);
        edge[b] += here < 0 ? -here : here;
        inside[b] += most > -least ? most : -least;
    }
}

/* Twoing of two classes: the square of the first class's excess over the sizes of the sides, at
 * the upper end of each bin and at the better of the two corners inside it. */
OB_VERSIONS static void ob_two_classes(const int32_t *left, const int32_t *here,
                                       const int32_t *before, const int32_t *all, int64_t n_bins,
                                       double n, double total, double *edge, double *inside) {
    for (int64_t b = 0; b < n_bins; b++) {
        double h = here[b], rest = (double) all[b] - h, i = before[b];
        double low = (double) left[b] * n - total * i;
        double up = low + h * (n - total), down = low - total * rest;
        double end = up - total * rest;
        double ia = i + h, ib = i + rest, ie = ia + rest;
        double sa = ia * (n - ia), sb = ib * (n - ib), se = ie * (n - ie);
        double a = up * up / (sa > 0 ? sa : 1), c = down * down / (sb > 0 ? sb : 1);
        edge[b] = end * end / (se > 0 ? se : 1);
        inside[b] = a > c ? a : c;
    }
}

#endif
