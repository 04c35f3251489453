"""The C code that walks the tables of a model: the same for all, but for what a model lacks.

Lines between ``//if word`` and ``//end`` are written if the model has what the word says, those
behind ``//else`` if it has not. ``@`` stands for the name, ``$`` for the name in capitals,
``ROW`` for the type of the entries of a row, ``SUM`` for that of sums at splits, ``REAL`` for that
of answers, and ``ENDING`` for the ending of the functions that take such rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

__all__ = ["CODE", "DECLARATIONS", "TEST", "written"]


def written(code: str, has: Collection[str], words: Mapping[str, str]) -> str:
    """Write the lines of code that a model needs."""
    lines: list[str] = []
    wanted = [True]
    for line in code.strip("\n").splitlines():
        mark, _, word = line.partition(" ")
        if mark == "//if":
            wanted.append(word in has)
        elif mark == "//else":
            wanted[-1] = not wanted[-1]
        elif mark == "//end":
            wanted.pop()
        elif all(wanted):
            lines.append(line)
    text = "\n".join(lines)
    for word, value in words.items():
        text = text.replace(word, value)
    return text + "\n"


DECLARATIONS = """
//if classes
/* Gives the number of the class of a row; -1: no answer. */
int @_predict(const double *x);

/* Fills out with the share of each class. Gives the number of the class; -1: no answer. */
int @_predict_proba(const double *x, double *out);
//else
/* Fills out with the numbers that are predicted. Gives 0; -1: no answer. */
int @_predict_values(const double *x, double *out);
//end

/* Fills leaves with the number of the node that the row reaches in each tree. Gives 0; -1: a tree
   has no answer, and its number is -1. */
int @_apply(const double *x, int32_t *leaves);
//if rounded

/* Makes of a row what the trees compute with. The functions below take such rows. */
void @_row(const double *x, ROW *row);
//if classes
int @_predict_row(const ROW *x);
int @_predict_proba_row(const ROW *x, REAL *out);
//else
int @_predict_values_row(const ROW *x, REAL *out);
//end
int @_apply_row(const ROW *x, int32_t *leaves);
//end
//if levels

/* Gives the code of a level from its text in UTF-8. A level that is not known has the code -1, or
   that of all others if the column has one. */
int @_code(size_t column, const char *text);
//if number_levels
int @_code_of_number(size_t column, double number);
//end

/* Gives the text of a level; a null pointer if there is no such code. */
const char *@_level(size_t column, int code);
//end
"""

CODE = """
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(_M_FP_FAST) \\
    || defined(__RECIPROCAL_MATH__) \\
    || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)
#error "compile without -ffast-math: NaN is a missing value, and sums keep their order"
#endif
//if exact
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 1
#error "doubles have another precision here; for 32-bit x86 compile with -msse2 -mfpmath=sse"
#endif

/* A product is rounded before it is added, whatever the compiler is told: where the processor has
   fused multiplications, it goes through memory. */
#if (defined(__i386__) || defined(__x86_64__) || defined(_M_IX86) || defined(_M_X64)) \\
    && !defined(__FMA__) && !defined(__FMA4__) && !defined(__AVX2__)
typedef double @_product;
#else
typedef volatile double @_product;
#endif
//else
typedef SUM @_product;
//end
//if levels

static int @_same(const char *one, const char *two)
{
    while (*one && *one == *two) {
        ++one;
        ++two;
    }
    return *one == *two;
}

int @_code(size_t column, const char *text)
{
    size_t k, end;

    if (column >= $_N_FEATURES)
        return -1;
    end = (size_t)@_levels_at[column + 1] - @_others[column];
    for (k = @_levels_at[column]; k < end; ++k)
//if number_levels
        if (@_level_numbers[k] != @_level_numbers[k] && @_same(text, @_levels[k]))
//else
        if (@_same(text, @_levels[k]))
//end
            return (int)(k - @_levels_at[column]);
    return @_others[column] ? (int)(end - @_levels_at[column]) : -1;
}
//if number_levels

int @_code_of_number(size_t column, double number)
{
    size_t k, end;

    if (column >= $_N_FEATURES)
        return -1;
    end = (size_t)@_levels_at[column + 1] - @_others[column];
    for (k = @_levels_at[column]; k < end; ++k)
        if (@_level_numbers[k] == number)
            return (int)(k - @_levels_at[column]);
    return @_others[column] ? (int)(end - @_levels_at[column]) : -1;
}
//end

const char *@_level(size_t column, int code)
{
    if (column >= $_N_FEATURES || code < 0
        || (size_t)code >= (size_t)@_levels_at[column + 1] - @_levels_at[column])
        return 0;
    return @_levels[@_levels_at[column] + (size_t)code];
}
//end

static int @_missing(ROW entry)
{
//if floating
    return entry != entry;
//else
    return entry == INT32_MIN;
//end
}

/* What term k multiplies: the entry, what stands in for it, or the number of its level. */
static ROW @_factor(const ROW *x, size_t k)
{
    ROW entry = x[@_column[k]];

//if stand_ins
    if (@_missing(entry))
        return @_stand_in[k];
//end
//if tables
    if (@_table_at[k] != @_table_at[k + 1] && !@_missing(entry))
        return entry >= 0 && entry < (ROW)(@_table_at[k + 1] - @_table_at[k])
            ? @_table[@_table_at[k] + (size_t)entry] : 0;
//end
    return entry;
}

/* Adds the terms from k to end to sum. Gives 0 if a value is not known. */
//if exact
static int @_add(const ROW *x, size_t k, size_t end, double scale, SUM *sum)
//else
static int @_add(const ROW *x, size_t k, size_t end, SUM *sum)
//end
{
    for (; k < end; ++k) {
        ROW factor = @_factor(x, k);
        @_product product;

        if (@_missing(factor))
            return 0;
//if exact
        product = @_coef[k] * (factor * scale);
//else
//if floating
        product = @_coef[k] * factor;
//else
        product = (SUM)@_coef[k] * factor * ((SUM)1 << @_shift[k]);
//end
//end
        *sum += product;
    }
    return 1;
}

/* The branch that a row takes at a node, of whatever kind; -1: no answer. */
static int @_branch(const ROW *x, size_t node)
{
    size_t plane = @_plane[node];
    size_t k = @_term[plane], end = @_term[plane + 1];
    SUM value = 0, threshold = @_threshold[plane];
//if machines

    if (@_plane[node + 1] - plane > 1) {
        size_t other, best = plane;
        SUM top = 0;

        for (other = plane; other < @_plane[node + 1]; ++other) {
            value = 0;
            if (!@_add(x, @_term[other], @_term[other + 1], SCALE&value))
                return -1;
            value -= @_threshold[other];
//if floating
            if (value != value)
                return -1;
//end
            if (other == plane || value > top) {
                best = other;
                top = value;
            }
        }
        return (int)(best - plane);
    }
//end
//if level_sets

    if (@_how[plane] == 3) {
        ROW entry = x[@_column[k]];

        if (@_missing(entry)) {
//if stand_ins
            entry = @_stand_in[k];
//end
            return @_missing(entry) ? -1 : (int)entry;
        }
        if (entry >= 0 && entry < (ROW)(@_table_at[k + 1] - @_table_at[k]))
            return (int)@_table[@_table_at[k] + (size_t)entry];
        return (int)threshold;
    }
//end
//if sides

    if (@_how[plane] & 3) {
        size_t other;

        for (other = k; other < end; ++other)
            if (@_missing(x[@_column[other]]))
                return (@_how[plane] & 3) - 1;
    }
//end

    if (!@_add(x, k, end, SCALE&value))
        return -1;
//if exact
    if (value != value) { /* products overflow on both sides */
        value = 0;
        @_add(x, k, end, SMALL, &value);
        threshold *= SMALL;
    }
//end
//if floating
    if (value != value)
        return -1;
//end
    return value <= threshold ? 0 : 1;
}

/* The node at which a row ends, from another one on; -1: no answer. */
static int32_t @_leaf(const ROW *x, size_t node)
{
    while (@_plane[node] != @_plane[node + 1]) {
        int branch = -1;
//if plain
        size_t plane = @_plane[node], k;
//if slow

        if (@_how[plane] < 3 && @_plane[node + 1] - plane == 1) {
//else

        {
//end
            SUM value = 0, threshold = @_threshold[plane];

            for (k = @_term[plane]; k < @_term[plane + 1]; ++k) {
                @_product product = @_coef[k] * x[@_column[k]];
                value += product;
            }
            if (value <= threshold)
                branch = 0;
            else if (value > threshold)
                branch = 1;
        }
//end
        if (branch < 0)
            branch = @_branch(x, node);
        if (branch < 0)
            return -1;
        node = @_next[node] + (size_t)branch;
    }
    return (int32_t)node;
}

int @_applyENDING(const ROW *x, int32_t *leaves)
{
    int found = 0;
    size_t tree;

    for (tree = 0; tree < $_N_TREES; ++tree) {
        leaves[tree] = @_leaf(x, @_root[tree]);
        if (leaves[tree] < 0)
            found = -1;
        else
            leaves[tree] -= (int32_t)@_root[tree];
    }
    return found;
}

//if says
/* Adds what a leaf says to sums. */
static void @_say(const ROW *x, size_t row, REAL *sums)
{
//if lines
    SUM sum = START_OF_LINE;
    REAL value = @_says[row];

    if (@_add(x, @_line[row], @_line[row + 1], SCALE&sum)) {
//if floating
        if (sum == sum)
            value = sum;
//else
        value = @_limits[row][0] + @_limits[row][3] * (float)sum;
//end
    }
    if (value < @_limits[row][1])
        value = @_limits[row][1];
    if (value > @_limits[row][2])
        value = @_limits[row][2];
    sums[0] += value;
//else
    size_t k;

    (void)x;
    for (k = 0; k < N_ANSWERS; ++k)
        sums[k] += @_says[row * N_ANSWERS + k];
//end
}

//end
//if classes
/* Fills sums with what leaves say, put together. Gives the number of the class; -1: no answer. */
static int @_sums(const ROW *x, REAL *sums)
{
    size_t tree, k;
    int best = 0;
//if pairs
    REAL votes[N_ANSWERS] = {0};
//end

    for (k = 0; k < N_ANSWERS; ++k)
        sums[k] = START;
    for (tree = 0; tree < $_N_TREES; ++tree) {
        int32_t leaf = @_leaf(x, @_root[tree]);

        if (leaf < 0)
            return -1;
//if pairs
        votes[@_chooses[@_next[leaf]]] += 1;
//end
//if vote
        sums[@_chooses[@_next[leaf]]] += 1;
//else
        @_say(x, @_next[leaf], sums);
//end
//if leaf_chooses
        best = @_chooses[@_next[leaf]];
//end
    }
//if pairs
    for (k = 0; k < N_ANSWERS; ++k)
        sums[k] = votes[k] + sums[k] / ($_N_TREES + 1);
//end
//if leaf_chooses
//else
    for (k = 1; k < N_ANSWERS; ++k)
        if (sums[k] > sums[best])
            best = (int)k;
//end
    return best;
}

//if log_odds
/* exp of a number that is not above 0, within 2e-16 of its size. */
static double @_exp(double number)
{
    double rest, term = 1, sum = 1;
    int k, halves;

    if (number < -745)
        return 0;
    halves = (int)(0.5 - number * 1.4426950408889634);
    /* ln 2 in two parts, so that the product with the first is exact. */
    rest = (number + halves * 0.6931471803691238) + halves * 1.9082149292705877e-10;
    for (k = 13; k > 0; --k)
        sum = 1 + sum * rest / k;
    for (; halves > 30; halves -= 30)
        sum *= 1.0 / 1073741824;
    for (; halves > 0; --halves)
        term *= 0.5;
    return sum * term;
}

//end
int @_predictENDING(const ROW *x)
{
//if leaf_chooses
    int32_t leaf = @_leaf(x, 0);

    return leaf < 0 ? -1 : @_chooses[@_next[leaf]];
//else
    REAL sums[N_ANSWERS];

    return @_sums(x, sums);
//end
}

int @_predict_probaENDING(const ROW *x, REAL *out)
{
    int best = @_sums(x, out);
//if shares
    size_t k;
//if total
    REAL total = 0;
//end

    if (best < 0)
        return -1;
//if log_odds
    {
        REAL top = out[0];

        for (k = 1; k < N_ANSWERS; ++k)
            top = out[k] > top ? out[k] : top;
        for (k = 0; k < N_ANSWERS; ++k)
            out[k] = (REAL)@_exp(out[k] - top);
    }
//end
//if clipped
    for (k = 0; k < N_ANSWERS; ++k)
        out[k] = out[k] > 0 ? out[k] : 0;
//end
//if total
    for (k = 0; k < N_ANSWERS; ++k)
        total += out[k];
    for (k = 0; k < N_ANSWERS; ++k)
        out[k] /= total;
//else
    for (k = 0; k < N_ANSWERS; ++k)
        out[k] /= $_N_TREES;
//end
//end
    return best;
}
//else
int @_predict_valuesENDING(const ROW *x, REAL *out)
{
    size_t tree, k;

    for (k = 0; k < N_ANSWERS; ++k)
        out[k] = 0;
    for (tree = 0; tree < $_N_TREES; ++tree) {
        int32_t leaf = @_leaf(x, @_root[tree]);

        if (leaf < 0)
            return -1;
        @_say(x, @_next[leaf], out);
    }
//if mean
    for (k = 0; k < N_ANSWERS; ++k)
        out[k] /= $_N_TREES;
//end
    return 0;
}
//end
//if rounded

int @_apply(const double *x, int32_t *leaves)
{
    ROW row[$_N_FEATURES];

    @_row(x, row);
    return @_apply_row(row, leaves);
}

//if classes
int @_predict(const double *x)
{
    ROW row[$_N_FEATURES];

    @_row(x, row);
    return @_predict_row(row);
}

int @_predict_proba(const double *x, double *out)
//else
int @_predict_values(const double *x, double *out)
//end
{
    ROW row[$_N_FEATURES];
    REAL answers[N_ANSWERS] = {0};
    size_t k;
    int got;

    @_row(x, row);
//if classes
    got = @_predict_proba_row(row, answers);
//else
    got = @_predict_values_row(row, answers);
//end
    for (k = 0; k < N_ANSWERS; ++k)
        out[k] = answers[k];
    return got;
}

void @_row(const double *x, ROW *row)
{
    size_t k;

//if floating
    for (k = 0; k < $_N_FEATURES; ++k)
        row[k] = (ROW)x[k];
//else
    for (k = 0; k < $_N_FEATURES; ++k) {
        double entry = (x[k] - @_offset[k]) * @_scale[k];

        if (entry != entry)
            row[k] = INT32_MIN;
        else if (entry >= MOST || entry <= -MOST)
            row[k] = entry > 0 ? MOST : -MOST;
        else
            row[k] = (int32_t)(entry < 0 ? entry - 0.5 : entry + 0.5);
    }
//end
}
//end
"""

TEST = """
#ifdef $_SELFTEST
#include <stdio.h>

/* Runs the rows below. Gives 0 if all leaves and answers are those of obliqua. */
int main(void)
{
    size_t row, k;

    for (row = 0; row < N_TESTS; ++row) {
        const double *x = @_test_rows[row];
        int32_t leaves[$_N_TREES];
        double answers[N_ANSWERS];
        int label;

        @_apply(x, leaves);
        for (k = 0; k < $_N_TREES; ++k)
            if (leaves[k] != (int32_t)@_test_leaves[row][k]) {
                printf("row %lu reaches leaf %ld of tree %lu in place of %ld\\n",
                       (unsigned long)row, (long)leaves[k], (unsigned long)k,
                       (long)@_test_leaves[row][k]);
                return 1;
            }
//if classes
        label = @_predict_proba(x, answers);
        if (label != (int)@_test_labels[row] || @_predict(x) != label) {
            printf("row %lu is of class %d in place of %d\\n", (unsigned long)row, label,
                   (int)@_test_labels[row]);
            return 1;
        }
//else
        label = @_predict_values(x, answers);
        if (label != 0) {
            printf("row %lu has no answer\\n", (unsigned long)row);
            return 1;
        }
//end
        for (k = 0; k < N_ANSWERS; ++k) {
            double off = answers[k] - @_test_answers[row][k];

            if (!(off >= -TOLERANCE && off <= TOLERANCE)) {
                printf("row %lu has answer %lu off by %g\\n", (unsigned long)row,
                       (unsigned long)k, off);
                return 1;
            }
        }
    }
    printf("%lu rows: all leaves and answers are the same\\n", (unsigned long)row);
    return 0;
}
#endif
"""
