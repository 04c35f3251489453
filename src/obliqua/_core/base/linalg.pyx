"""Small symmetric matrices, the same bits on every machine: eigenvectors, systems of equations.

Householder reflections bring a matrix to tridiagonal form, then QR steps with Wilkinson's shift
make it diagonal (Golub and Van Loan, Matrix Computations, sections 8.3.1 to 8.3.3). Systems are
solved by Cholesky's factorisation. Plain loops in a fixed order, no BLAS: what LAPACK returns
depends on the processor, and a tree must not.
"""

from libc.math cimport fabs, frexp, ldexp, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import numpy as np

from obliqua._core.base.types cimport i64

cdef extern from "loops.h" nogil:
    bint ob_factorise(double* matrix, i64 n)
    void ob_solve_lower(const double* factor, i64 n, double* vector)
    void ob_solve_upper(const double* factor, i64 n, double* vector)
    void ob_add_multiple(double* v, const double* z, double d, i64 n)

cdef enum:
    MOST_STEPS = 240
    MOST_SWEEPS = 40

cdef double EPSILON = 2.220446049250313e-16
cdef double NOTHING = 1.110223024625157e-16      # beside entries near 1: rounding
cdef double RIDGE = 1e-3         # of each diagonal entry
cdef double FLOOR = 1e-12        # of the mean of the diagonal, for columns that do not vary


cdef void tridiagonalise(double* a, i64 n, double* diagonal, double* off, double* v,
                         double* w) noexcept nogil:
    """Reduces a (n x n, row-major) to tridiagonal form; the product of reflections stays in it.

    Afterwards a = Q with A = Q T Q', T = (diagonal, off).
    """
    cdef i64 i, k, m
    cdef double norm, beta, alpha, s
    # The reflections are kept in the columns that they clear, then multiplied up.
    for k in range(n - 2):
        m = n - k - 1                        # length of the part below the diagonal
        alpha = a[(k + 1) * n + k]
        s = 0.0
        for i in range(k + 2, n):
            s += a[i * n + k] * a[i * n + k]
        if s == 0.0:
            off[k] = alpha
            w[k] = 0.0                       # no reflection
            continue
        norm = sqrt(alpha * alpha + s)
        # v = x + sign(x_1) |x| e_1, scaled so that its first entry is 1
        beta = alpha + norm if alpha >= 0 else alpha - norm
        v[0] = 1.0
        for i in range(1, m):
            v[i] = a[(k + 1 + i) * n + k] / beta
        off[k] = -norm if alpha >= 0 else norm
        s = 1.0
        for i in range(1, m):
            s += v[i] * v[i]
        w[k] = 2.0 / s
        reflect_both(a, n, k + 1, m, v, w[k], off + n)
        for i in range(1, m):
            a[(k + 1 + i) * n + k] = v[i]
    if n > 1:
        off[n - 2] = a[(n - 1) * n + n - 2]
    for i in range(n):
        diagonal[i] = a[i * n + i]
    multiply_up(a, n, w, v, off + n)


cdef void reflect_both(double* a, i64 n, i64 first, i64 m, const double* v, double tau,
                       double* p) noexcept nogil:
    """a <- H a H on the trailing m x m block, H = I - tau v v'. One triangle is read."""
    cdef i64 i, j
    cdef double s, half = 0.0
    cdef double* row
    for i in range(m):                       # row by row; each sum in the order of its columns
        s = 0.0
        row = a + (first + i) * n + first
        for j in range(i + 1):
            s += row[j] * v[j]
        p[i] = s
        ob_add_multiple(p, row, v[i], i)
    for i in range(m):
        p[i] = tau * p[i]
        half += p[i] * v[i]
    half = 0.5 * tau * half
    for i in range(m):
        p[i] -= half * v[i]
    for i in range(m):
        row = a + (first + i) * n + first
        for j in range(i + 1):
            row[j] -= v[i] * p[j] + p[i] * v[j]


cdef void multiply_up(double* a, i64 n, const double* tau, double* v,
                      double* sums) noexcept nogil:
    """Replaces the stored reflections by their product Q, from the last to the first."""
    cdef i64 i, j, k, m
    for i in range(max(n - 2, 0), n):
        for j in range(max(n - 2, 0), n):
            a[i * n + j] = 1.0 if i == j else 0.0
    for k in range(n - 3, -1, -1):
        m = n - k - 1
        v[0] = 1.0
        for i in range(1, m):
            v[i] = a[(k + 1 + i) * n + k]
        # the block so far has size m - 1 and starts at k + 2: extend it by one unit row
        for i in range(m):
            a[(k + 1 + i) * n + k + 1] = 1.0 if i == 0 else 0.0
            a[(k + 1) * n + k + 1 + i] = 1.0 if i == 0 else 0.0
        if tau[k] != 0.0:
            memset(sums, 0, m * sizeof(double))
            for i in range(m):
                ob_add_multiple(sums, a + (k + 1 + i) * n + k + 1, v[i], m)
            for j in range(m):
                sums[j] *= tau[k]
            for i in range(m):
                ob_add_multiple(a + (k + 1 + i) * n + k + 1, sums, -v[i], m)
    for i in range(n):
        a[i * n] = 1.0 if i == 0 else 0.0
        a[i] = 1.0 if i == 0 else 0.0


cdef void qr_step(double* d, double* e, double* q, i64 n, i64 low, i64 high) noexcept nogil:
    """One implicit step on the block low..high; q holds eigenvectors in its rows."""
    cdef i64 k, i
    cdef double half = (d[high - 1] - d[high]) / 2
    cdef double x, z, c, s, r, a, b, g
    cdef double shift = d[high]
    cdef double* upper
    cdef double* lower
    if half != 0.0 or e[high - 1] != 0.0:
        r = sqrt(half * half + e[high - 1] * e[high - 1])
        g = half + r if half >= 0 else half - r
        shift = d[high] - e[high - 1] * (e[high - 1] / g)
    x = d[low] - shift
    z = e[low]
    for k in range(low, high):
        r = sqrt(x * x + z * z)
        if r == 0.0:
            c = 1.0
            s = 0.0
        else:
            c = x / r
            s = z / r
        if k > low:
            e[k - 1] = r
        a = d[k]
        b = d[k + 1]
        g = e[k]
        d[k] = c * c * a + 2 * c * s * g + s * s * b
        d[k + 1] = s * s * a - 2 * c * s * g + c * c * b
        e[k] = c * s * (b - a) + (c * c - s * s) * g
        if k < high - 1:
            z = s * e[k + 1]
            e[k + 1] = c * e[k + 1]
        x = e[k]
        upper = q + k * n
        lower = q + (k + 1) * n
        for i in range(n):
            a = upper[i]
            b = lower[i]
            upper[i] = c * a + s * b
            lower[i] = c * b - s * a


cdef int bring_to_one(double* a, i64 n) noexcept nogil:
    """Divides by a power of two, so that squares neither overflow nor vanish; returns it."""
    cdef i64 i, j
    cdef int exponent = 0
    cdef double first, second, top = 0.0
    for i in range(n):
        for j in range(i + 1):
            top = max(top, fabs(a[i * n + j]))
    frexp(top, &exponent)
    # In two steps: one factor could be too large for a float64.
    first = ldexp(1.0, -(exponent // 2))
    second = ldexp(1.0, -(exponent - exponent // 2))
    for i in range(n):
        for j in range(i + 1):
            a[i * n + j] = (a[i * n + j] * first) * second
    return exponent


cdef bint eigen_symmetric(double* matrix, i64 n, double* values, double* scratch) noexcept nogil:
    """Row i of `matrix` becomes the unit eigenvector of values[i], values descending.

    The lower triangle is read. `scratch` has room for 4 n. False if it does not converge.
    """
    cdef i64 i, j, k, low, high, steps = 0
    cdef double* off = scratch               # n, then n for the reflections
    cdef double* v = scratch + 2 * n
    cdef double* tau = scratch + 3 * n
    cdef double held
    cdef int exponent
    if n == 1:
        values[0] = matrix[0]
        matrix[0] = 1.0
        return True
    exponent = bring_to_one(matrix, n)
    tridiagonalise(matrix, n, values, off, v, tau)
    for i in range(n):                       # eigenvectors as rows, so that rotations are quick
        for j in range(i):
            held = matrix[i * n + j]
            matrix[i * n + j] = matrix[j * n + i]
            matrix[j * n + i] = held
    high = n - 1
    while high > 0:
        for k in range(high):
            if fabs(off[k]) <= max(EPSILON * (fabs(values[k]) + fabs(values[k + 1])), NOTHING):
                off[k] = 0.0
        if off[high - 1] == 0.0:
            high -= 1
            continue
        low = high - 1
        while low > 0 and off[low - 1] != 0.0:
            low -= 1
        qr_step(values, off, matrix, n, low, high)
        steps += 1
        if steps > 60 * n:
            return False
    for i in range(n):
        values[i] = ldexp(values[i], exponent)
    sort_vectors(matrix, n, n, values)
    return True


cdef void rotate(double* one, double* other, i64 n, double cosine, double sine) noexcept nogil:
    cdef i64 i
    cdef double x, y
    for i in range(n):
        x = one[i]
        y = other[i]
        one[i] = cosine * x - sine * y
        other[i] = sine * x + cosine * y


cdef bint rotate_apart(double* one, double* other, i64 n, double* size_one, double* size_other,
                       double* cosine, double* sine) noexcept nogil:
    """Turns two rows of n numbers until they are orthogonal; False if they are already.

    The sizes say what the rows were made of. A row that is no more than the rounding of that
    becomes 0.
    """
    cdef double a = dot(one, one, n), b = dot(other, other, n), c = dot(one, other, n)
    cdef double t, x
    if sqrt(a) <= 64 * EPSILON * size_one[0]:
        memset(one, 0, n * sizeof(double))
        return False
    if sqrt(b) <= 64 * EPSILON * size_other[0]:
        memset(other, 0, n * sizeof(double))
        return False
    if not fabs(c) > 8 * EPSILON * sqrt(a) * sqrt(b):
        return False
    x = (b - a) / (2 * c)
    t = 1.0 / (fabs(x) + sqrt(1.0 + x * x))
    if x < 0.0:
        t = -t
    cosine[0] = 1.0 / sqrt(1.0 + t * t)
    sine[0] = cosine[0] * t
    rotate(one, other, n, cosine[0], sine[0])
    x = size_one[0]
    t = fabs(sine[0])
    size_one[0] = cosine[0] * x + t * size_other[0]
    size_other[0] = t * x + cosine[0] * size_other[0]
    return True


cdef i64 eigen_scatter(double* scatter, double* vectors, i64 n, double least, double* values,
                       double* scratch) noexcept nogil:
    """Eigenvectors, as rows, of a scatter matrix of features in any units; returns how many.

    Left out are those of eigenvalues that are 0: the correlation matrix says how many are not,
    by having so many above `least` of its largest. Those of S = D R D with R = V M V' are the
    rotations that make the rows of D V sqrt(M) orthogonal (one-sided Jacobi). Unlike QR steps they
    find directions of small features, beside large ones, with all their digits (Demmel and
    Veselic 1992). The lower triangle is read; what stands in `scatter` is lost, `scratch` has room
    for 5 n. -1 if it does not converge.
    """
    cdef i64 i, j, k, rank = 0
    cdef int _
    cdef bint turned = True
    cdef double* size = scratch + 4 * n
    cdef double cosine = 1.0, sine = 0.0
    for i in range(n):
        size[i] = sqrt(scatter[i * n + i])
        for j in range(i + 1):
            vectors[i * n + j] = 1.0 if i == j else 0.0
            if size[i] == 0.0 or size[j] == 0.0:
                vectors[i * n + j] = 0.0
            elif i != j:
                vectors[i * n + j] = scatter[i * n + j] / size[i] / size[j]
    if not eigen_symmetric(vectors, n, values, scratch):
        return -1
    while rank < n and values[rank] > least * values[0]:
        rank += 1
    for i in range(n):
        for k in range(rank):
            scatter[i * n + k] = size[i] * (sqrt(values[k]) * vectors[k * n + i])
    memset(vectors, 0, n * n * sizeof(double))
    for i in range(n):
        vectors[i * n + i] = 1.0
    for _ in range(MOST_SWEEPS):
        if not turned:
            break
        turned = False
        for i in range(n - 1):
            for j in range(i + 1, n):
                if rotate_apart(scatter + i * n, scatter + j * n, rank, size + i, size + j,
                                &cosine, &sine):
                    rotate(vectors + i * n, vectors + j * n, n, cosine, sine)
                    turned = True
    if turned:
        return -1
    for i in range(n):
        values[i] = dot(scatter + i * n, scatter + i * n, rank)
    sort_vectors(vectors, n, n, values)
    return rank


cdef bint orthogonalise(double* rows, i64 n, i64 length, double* values) noexcept nogil:
    """Turns n rows, none of which depends on the others, until they are orthogonal.

    They become the eigenvectors of the sum of their outer products, that is of `scatter` above if
    they are the columns of D V sqrt(M), with the eigenvalues as squared lengths, the largest
    first. Each column keeps its own digits, however small it is beside others. False if it does
    not converge.
    """
    cdef i64 i, j
    cdef int _
    cdef bint turned = True
    cdef double cosine = 1.0, sine = 0.0
    cdef double[2] size
    size[0] = size[1] = 0.0                  # no row is mere rounding
    for _ in range(MOST_SWEEPS):
        if not turned:
            break
        turned = False
        for i in range(n):
            values[i] = dot(rows + i * length, rows + i * length, length)
        sort_vectors(rows, n, length, values)        # small rows are cleaned by large ones
        for i in range(n - 1):
            for j in range(i + 1, n):
                if rotate_apart(rows + i * length, rows + j * length, length, &size[0], &size[1],
                                &cosine, &sine):
                    turned = True
    return not turned


cdef void sort_vectors(double* vectors, i64 n, i64 length, double* values) noexcept nogil:
    """Orders n numbers, the largest first, and with them vectors; n is small."""
    cdef i64 i, j, k
    cdef double held
    for i in range(n - 1):
        k = i
        for j in range(i + 1, n):
            if values[j] > values[k]:
                k = j
        if k != i:
            held = values[i]
            values[i] = values[k]
            values[k] = held
            for j in range(length):
                held = vectors[i * length + j]
                vectors[i * length + j] = vectors[k * length + j]
                vectors[k * length + j] = held


cdef void multiply_symmetric(const double* a, i64 n, const double* v, double* w) noexcept nogil:
    """w = A v, from the lower triangle of A."""
    cdef i64 i, j
    cdef double s
    cdef const double* row
    for i in range(n):
        w[i] = 0.0
    for i in range(n):
        row = a + i * n
        s = row[i] * v[i]
        for j in range(i):
            w[j] += row[j] * v[i]
        s += dot(row, v, i)
        w[i] += s


cdef double dot(const double* a, const double* b, i64 n) noexcept nogil:
    """Sum of products in four lanes, always the same ones."""
    cdef double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0
    cdef i64 i = 0
    while i + 4 <= n:
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
        i += 4
    while i < n:
        s0 += a[i] * b[i]
        i += 1
    return (s0 + s1) + (s2 + s3)


cdef double make_orthogonal(const double* basis, i64 m, double* w, i64 n) noexcept nogil:
    """Takes off what w shares with m unit vectors, twice over; returns what is left of it."""
    cdef i64 k, i
    cdef int _
    cdef double s
    for _ in range(2):
        for k in range(m):
            s = dot(basis + k * n, w, n)
            for i in range(n):
                w[i] -= s * basis[k * n + i]
    return sqrt(dot(w, w, n))


cdef bint dominant_vector(double* matrix, i64 n, double* vector) noexcept nogil:
    """The unit eigenvector of the largest eigenvalue of a scatter matrix (lower triangle read).

    Lanczos's method with full reorthogonalisation: it ends when the residual is rounding, at the
    latest when it has spanned the matrix's range, which for few rows is soon. False if it has
    not converged after MOST_STEPS steps, or if there is no memory.
    """
    cdef i64 m = 0, i, k, most = min(n, <i64> MOST_STEPS)
    cdef double length, top
    cdef double* basis = <double*> malloc((most + 1) * n * sizeof(double))
    cdef double* small = <double*> malloc(most * most * sizeof(double))
    cdef double* numbers = <double*> malloc(7 * most * sizeof(double))
    cdef double* alpha = numbers
    cdef double* beta = numbers + most
    cdef bint done = False
    if basis != NULL and small != NULL and numbers != NULL:
        bring_to_one(matrix, n)
        # Any start will do that is not at right angles to the vector: A times something plain.
        for i in range(n):
            vector[i] = 1.0 + 0.5 * ((i * 7919 + 13) % 101) / 101.0
        multiply_symmetric(matrix, n, vector, basis)
        length = sqrt(dot(basis, basis, n))
        if length > 0.0:
            for i in range(n):
                basis[i] /= length
            while m < most and not done:
                multiply_symmetric(matrix, n, basis + m * n, basis + (m + 1) * n)
                alpha[m] = dot(basis + m * n, basis + (m + 1) * n, n)
                m += 1
                beta[m - 1] = make_orthogonal(basis, m, basis + m * n, n)
                if beta[m - 1] > NOTHING:
                    for i in range(n):
                        basis[m * n + i] /= beta[m - 1]
                if m % 8 == 0 or m == most or beta[m - 1] <= NOTHING:
                    memset(small, 0, m * m * sizeof(double))
                    for k in range(m):
                        small[k * m + k] = alpha[k]
                        if k > 0:
                            small[k * m + k - 1] = beta[k - 1]
                    if not eigen_symmetric(small, m, numbers + 2 * most, numbers + 3 * most):
                        break
                    top = numbers[2 * most]
                    done = beta[m - 1] * fabs(small[m - 1]) <= 4 * EPSILON * top \
                        or beta[m - 1] <= NOTHING
        if done:
            for i in range(n):
                vector[i] = 0.0
            for k in range(m):
                for i in range(n):
                    vector[i] += small[k] * basis[k * n + i]
    free(basis)
    free(small)
    free(numbers)
    return done


def py_dominant(matrix):
    """The dominant eigenvector of a scatter matrix, or None, for tests."""
    copy = np.array(matrix, dtype=np.float64, order="C")
    vector = np.empty(len(copy))
    cdef double[:, ::1] copy_ = copy
    cdef double[::1] vector_ = vector
    if not dominant_vector(&copy_[0, 0], copy_.shape[0], &vector_[0]):
        return None
    return vector


def py_eigen(matrix):
    """Eigenvalues (descending) and eigenvectors (rows) of a symmetric matrix, for tests."""
    cdef i64 n = matrix.shape[0]
    vectors = np.array(matrix, dtype=np.float64, order="C")
    values = np.empty(n)
    cdef double[:, ::1] vectors_ = vectors
    cdef double[::1] values_ = values
    cdef bint converged
    cdef double* scratch = <double*> malloc(4 * n * sizeof(double))
    if scratch == NULL:
        raise MemoryError
    with nogil:
        converged = eigen_symmetric(&vectors_[0, 0], n, &values_[0], scratch)
    free(scratch)
    if not converged:
        raise ArithmeticError("the eigenvalues did not converge")
    return values, vectors


def py_eigen_scatter(matrix, double least):
    """Eigenvalues and eigenvectors (rows) of a scatter matrix, without those that are 0."""
    cdef i64 n = matrix.shape[0], rank
    scatter = np.array(matrix, dtype=np.float64, order="C")
    vectors = np.empty((n, n))
    values, scratch = np.empty(n), np.empty(5 * n)
    cdef double[:, ::1] scatter_ = scatter, vectors_ = vectors
    cdef double[::1] values_ = values, scratch_ = scratch
    rank = eigen_scatter(&scatter_[0, 0], &vectors_[0, 0], n, least, &values_[0], &scratch_[0])
    return values[:max(rank, 0)], vectors[:max(rank, 0)]


# -- systems of equations ----------------------------------------------------------------------


cdef void add_ridge(double* matrix, i64 n) noexcept nogil:
    """Makes a scatter matrix safe to invert."""
    cdef i64 i
    cdef double trace = 0.0
    for i in range(n):
        trace += matrix[i * n + i]
    for i in range(n):
        matrix[i * n + i] += RIDGE * matrix[i * n + i] + FLOOR * trace / n


cdef bint factorise(double* matrix, i64 n) noexcept nogil:
    """Replaces the lower triangle of A by L, A = L L'; False if A is not positive definite.

    The upper triangle becomes that of L', which `solve_lower` reads.
    """
    return ob_factorise(matrix, n)


cdef void solve_lower(const double* factor, i64 n, double* vector) noexcept nogil:
    """Replaces a vector b by the solution of L x = b."""
    ob_solve_lower(factor, n, vector)


cdef void solve_upper(const double* factor, i64 n, double* vector) noexcept nogil:
    """Replaces a vector b by the solution of L' x = b."""
    ob_solve_upper(factor, n, vector)


cdef void solve(const double* factor, i64 n, double* vector) noexcept nogil:
    """Replaces a vector b by the solution of L L' x = b."""
    solve_lower(factor, n, vector)
    solve_upper(factor, n, vector)


def py_solve(matrix, vector, bint lower=True, bint upper=True):
    """Solution of a positive definite system A = L L', or None, for tests.

    Without `upper` that of L x = b, without `lower` that of L' x = b.
    """
    factor = np.array(matrix, dtype=np.float64, order="C")
    result = np.array(vector, dtype=np.float64)
    cdef double[:, ::1] factor_ = factor
    cdef double[::1] result_ = result
    if not factorise(&factor_[0, 0], factor_.shape[0]):
        return None
    if lower:
        solve_lower(&factor_[0, 0], factor_.shape[0], &result_[0])
    if upper:
        solve_upper(&factor_[0, 0], factor_.shape[0], &result_[0])
    return result


def product(left, right):
    """Returns ``left @ right`` of vectors or matrices; each sum is in the order of its terms."""
    cdef const double[:, ::1] a = np.ascontiguousarray(np.atleast_2d(left), dtype=np.float64)
    cdef const double[:, ::1] b = np.ascontiguousarray(
        right if right.ndim == 2 else right[:, None], dtype=np.float64)
    cdef i64 i, j, k
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"shapes {left.shape} and {right.shape} cannot be multiplied")
    total = np.zeros((a.shape[0], b.shape[1]))
    cdef double[:, ::1] c = total
    with nogil:
        for i in range(c.shape[0]):
            for k in range(b.shape[0]):
                for j in range(c.shape[1]):
                    c[i, j] += a[i, k] * b[k, j]
    return total.reshape(left.shape[:left.ndim - 1] + right.shape[1:])
