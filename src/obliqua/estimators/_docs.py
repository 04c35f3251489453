"""Text that the docstrings of several estimators share, written once.

An estimator's docstring holds the marker lines ``[parameters]`` and ``[attributes]``; the
decorator :func:`document` puts the sections there. The parameters are taken from the
constructor, in its order and with its defaults, so that none can be forgotten or misstated.
"""

import inspect
from collections.abc import Callable
from textwrap import indent
from typing import TypeVar

from obliqua.criteria import CRITERIA, NUMBER_CRITERIA

Class = TypeVar("Class", bound=type)

# name: (type, description)
PARAMETERS: dict[str, tuple[str, str]] = {
    "criterion": (
        f"{{{', '.join(map(repr, CRITERIA))}}} or callable",
        """\
How good a split is: goodness, the larger the better. A function is called with two
vectors, the weighted class counts left and right of the split, and returns a number;
a split is made only where the number is positive.""",
    ),
    "max_depth": (
        "int or None",
        """\
The depth at which a node becomes a leaf; the root has depth 0. `None` sets no limit.""",
    ),
    "max_leaf_nodes": (
        "int or None",
        """\
The largest number of leaves. If it is given, the node with the largest gain is split
first (best-first growth) until this number is reached. `None` sets no limit.""",
    ),
    "min_samples_split": (
        "int or float",
        """\
The smallest number of rows that a node must hold to be split. A float is a fraction of
the rows that grow the tree, rounded up. (The papers' MinParent is this number minus one.)""",
    ),
    "min_samples_leaf": (
        "int or float",
        """\
The smallest number of rows that each side of a split must hold. A float is a fraction of
the rows that grow the tree, rounded up.""",
    ),
    "min_weight_fraction_leaf": (
        "float",
        """\
The smallest share of the weight of all rows that grow the tree that each side of a split must
hold, at most 0.5.""",
    ),
    "min_impurity_decrease": (
        "float",
        """\
A node is split only if its gain is at least this. The gain is the goodness of the split
times the node's share of the total weight.""",
    ),
    "max_leaf_error": (
        "float",
        """\
A node becomes a leaf when the weighted share of its rows outside its largest class is at
most this (the papers' MisRate).""",
    ),
    "zero_gain_splits": (
        "bool",
        """\
Whether a node in which no split has a positive goodness is split nevertheless, at the
first split found. This lets a tree get past patterns such as exclusive or, in which only
two splits together help.""",
    ),
    "pruning": (
        "{'auto', 'holdout', 'cv', 'reduced_error', 'pessimistic'}, Pruner or None",
        """\
How the tree is cut back after it has been grown. 'auto': as 'cv' up to 3,000 rows, as 'holdout'
with more. 'holdout': a part of the rows is held
out, the others grow the tree, and of its cost-complexity sequence the tree with the
fewest errors on the rows held out is taken. 'cv': all rows grow the tree, and the price
of a leaf is chosen by cross-validation, for which `n_folds` more trees are grown.
'reduced_error': as 'holdout', but each split is cut that the rows held out do not need.
'pessimistic': all rows grow the tree, and each split is cut that promises no fewer errors by
C4.5's estimate, which takes the errors of a leaf for too few. A `Pruner` of one's own: see
:class:`obliqua.prune.Pruner`. `None`: not at all. Of equally
good trees the smallest is taken. With too few rows to hold one out, all of them grow the tree,
and it is not pruned.""",
    ),
    "prune_fraction": (
        "float",
        """\
The share of the weight that is held out for 'holdout' and 'reduced_error'. Which rows
these are depends on the seed and on what is in the rows, not on their order. Of equal rows,
and of a row whose weight counts rows, some may be held out and others not.""",
    ),
    "n_folds": (
        "int",
        """\
The number of folds for `pruning='cv'`.""",
    ),
    "n_se": (
        "float",
        """\
'holdout' and 'cv' take the smallest tree whose errors are at most so many standard errors
above the fewest. 0 asks for the fewest; 1 is the rule of Breiman et al. The standard
error takes weights for numbers of rows, as for `confidence_factor`.""",
    ),
    "prune_root": (
        "bool",
        """\
Whether the root's split may be cut too. C4.5 cuts it if it is not worth having, and so do the
methods that prune as C4.5 does; the papers on the others never do.""",
    ),
    "ccp_alpha": (
        "float or None",
        """\
The price of a leaf, as a share of the total weight. A number takes the place of `pruning`:
all rows grow the tree, and the tree with the smallest sum of misclassified share and price
of its leaves is taken. 0 prunes nothing at all, as in scikit-learn. `None` lets `pruning`
decide.""",
    ),
    "confidence_factor": (
        "float",
        """\
For `pruning='pessimistic'`: how likely it is that a leaf errs as rarely as it does on the
training rows, if its true rate is the estimated one. Smaller values prune more; at most 0.5.
Weights count as numbers of rows if those of the rows are all whole numbers, and otherwise as
if their mean were 1.""",
    ),
    "subtree_raising": (
        "bool",
        """\
For `pruning='pessimistic'`: whether the largest branch of a split may take the place of the
split, with all its rows, if it promises no more errors.""",
    ),
    "max_features": (
        "int, float, 'sqrt', 'log2' or None",
        """\
How many features each node looks at, drawn anew by the seed: a number, a share of all, their root
or logarithm. As many more are drawn while no split of them gains. `None` looks at all. A forest is
the quicker way to many trees of this kind.""",
    ),
    "max_features_per_split": (
        "int or None",
        """\
The most features that a split may use. Each proposed direction that uses more is replaced
by its sparse version, and the threshold is searched anew: a discriminant or slope is fitted by so
many features, chosen one by one by least squares in the node, unless rows are few beside
features; of other directions the entries of largest `|coefficient| * standard deviation in the
node` are kept. `None` sets no limit; 1 leaves only
axis-parallel splits.""",
    ),
    "refine": (
        "bool",
        """\
Whether all splits of the tree, as it was grown and pruned, are refined together by gradients, on
all rows. The tree keeps its structure, but for splits that no row needs any more; limits on the
rows of leaves hold while it is grown. `RefinedTreeClassifier` does more: it grows the tree too
large and shrinks it with refinement in between.""",
    ),
    "scale": (
        "{'standard', 'robust', 'minmax'} or None",
        """\
What the method looks at instead of the features themselves: features divided by their
standard deviation, their interquartile range or their range. Splits are written in original
units all the same. `None` takes the features as they are.""",
    ),
    "class_weight": (
        "dict, 'balanced' or None",
        """\
Weights of the classes, as `{label: weight}`; a class that is left out has weight 1. A
weight is what it costs to misclassify a row of the class.
'balanced' weighs each class by `total / (number of classes * weight of the class)`, sample
weights included. They are multiplied with `sample_weight`.""",
    ),
    "priors": (
        "dict, array-like, 'equal' or None",
        """\
The share that each class is to have, as `{label: prior}` or in the order of `classes_`;
'equal' gives all classes the same. They need not add up to 1. A dictionary must name every
label in y; it may name more, as for a fold that lacks a rare class, and the labels that are
not in y are left out. The classes are weighted so that their weights have these shares,
before `class_weight` is multiplied in; splits, labels of leaves and pruning all heed it.
`None` takes the shares in the data.""",
    ),
    "costs": (
        "array-like of shape (n_classes, n_classes), dict or None",
        """\
What mistakes cost: `costs[i][j]` is the cost of saying class j of a row of class i, both in the
order of `classes_`; numbers that are not negative, with 0 on the diagonal. With labels, as
`{true: {said: cost}}` or a pandas frame with labels as index and columns, the order does not
matter, and labels that are not in y are left out. A leaf says the class
that costs least, pruning compares costs instead of numbers of mistakes, and prices of leaves are
in their unit; splits and `predict_proba` do not heed them. `None`: each mistake costs 1.""",
    ),
    "categorical_features": (
        "'from_dtype', array-like or None",
        """\
Which columns are qualitative: their values are levels without an order. 'from_dtype' takes
columns of text and of categories: in pandas `category`, `string` and objects among which there
is text; in polars String, Categorical and Enum; in arrays and lists the columns that hold text.
Bools stay numbers. A list gives names of columns, positions (negative ones count from the
end) or a bool for each column; then only these are qualitative, and numbers among them become
levels by value. `None` makes nothing qualitative. In a column with more than ten levels and
at most ten rows per level, such as names or keys, levels with fewer than 20 rows count as
one, with a warning.""",
    ),
    "fill": (
        "{'side', 'node', 'training'}",
        """\
What becomes of a missing number at a split. `'side'` tries rows that miss a value on both sides,
and whether the value is there is a split of its own, so that a value's absence can tell something.
Splits of several columns are tried with the column's mean in the place of what is missing, and
with all rows that miss something on one side. `'node'`: the mean of the column over the training
rows at that node stands in; `'training'`: that over all training rows (the rule of OC1). Means
are weighted, and missing numbers do not count. Where training rows of other nodes only miss the
number that a split asks for, later rows go with the heavier side. A missing level is a level of
its own where a node has seen one, and adds nothing elsewhere.""",
    ),
    "memory_limit": (
        "int, str or None",
        """\
What `fit` may take of memory, above what imports take, where X tells of a table in files: a number
of bytes, or a text such as '2GB'. A table that is larger is read in passes, and gives the same
tree. `None` stands for 512 MiB, however much there is. Of no use where X is in memory.""",
    ),
    "sample_rows": (
        "int or None",
        """\
How many rows of a node are looked at for directions by a method that must see rows: those with the
smallest hashes of seed, node and content, equal rows being one. How good the directions are,
and where to cut along them, all rows of the node say. Nodes with no more rows are looked at whole.
The tree is the same wherever the rows are. `None` looks at all of them, and refuses tables
that are read in passes unless sums over rows are enough; then this changes nothing.""",
    ),
    "random_state": (
        "int, RandomState instance or None",
        """\
The seed of all that is random. The same seed gives the same tree, whatever the number of
threads. `None` draws another one for each fit.""",
    ),
    "n_jobs": (
        "int or None",
        """\
The number of threads for fitting and predicting: `None` means 1 unless a
`joblib.parallel_config` context says otherwise, -1 all cores. It never changes a result.""",
    ),
}

# name: (type, description)
ATTRIBUTES: dict[str, tuple[str, str]] = {
    "tree_": ("Tree", "The tree after pruning, an immutable set of arrays."),
    "model_": ("Model", "The tree together with the classes and the encoding of the columns."),
    "classes_": ("ndarray of shape (n_classes,)", "The class labels, sorted."),
    "n_classes_": ("int", "The number of classes."),
    "n_features_in_": ("int", "The number of columns seen in `fit`."),
    "feature_names_in_": (
        "ndarray of shape (`n_features_in_`,)",
        """\
The names of the columns. Only there if X was a data frame whose column names are all
strings.""",
    ),
    "feature_importances_": (
        "ndarray of shape (`n_features_in_`,)",
        """\
The share of each feature in the gain of all splits. The gain of a split is shared out among
its features in proportion to `|coefficient| * standard deviation of the feature among the
training rows at the node`; the sums are divided by their total, and all are 0 if there is
no split. Look at permutation importance on rows that were not trained on beside it
(`sklearn.inspection.permutation_importance`): these shares are computed on the training
rows, so they also count what the tree has learnt by heart, and features that carry the same
information share what each of them would have had alone.""",
    ),
}


#: What differs where numbers are learnt.
NUMBER_PARAMETERS: dict[str, tuple[str, str]] = {
    "leaf_model": (
        "{'constant', 'linear', 'auto'}",
        """\
What a leaf says: the mean of its training rows, or a linear function of the features. That is
fitted by least squares with a penalty, and never says less than the least or more than the
largest number of the leaf's rows, so no prediction runs away. 'auto' chooses between both on
held-out rows.""",
    ),
    "leaf_penalty": (
        "float or None",
        """\
What the squared coefficients of a linear function cost, as a number of rows, in features that are
divided by their standard deviation in all rows. `None` chooses among 0.1, 1 and 10 (with 3,000
rows or more, 0.1 and 1) on held-out rows.""",
    ),
    "leaf_smoothing": (
        "float or None",
        """\
As how many rows what the node above says counts beside a leaf's own rows, and what the next node
says beside its, up to the root: small leaves do not go their own way. `None` chooses on held-out
rows: for linear functions among 0, 5, 20 and 80, and where `RefinedTreeRegressor` says constants
among 0, 1, 3 and 10. Other trees that say constants are not smoothed then.""",
    ),
    "max_features_per_leaf": (
        "int or None",
        """\
The most features of a leaf's linear function. The one that matters least is left out, the others
are fitted anew, until so many are left; such functions are not smoothed. `None` sets no
limit.""",
    ),
    "quantiles": (
        "list of float or None",
        """\
Which quantiles of its training rows are kept for each leaf, for `predict_quantiles`, such as
``[0.1, 0.5, 0.9]``. `None` keeps none.""",
    ),
    "min_samples_leaf": (
        "int, float or None",
        """\
The fewest rows of a leaf; a float is a share of all rows. `None` is 5 where leaves say constants
and 10 where they say linear functions, counted by weight: a row of weight 2 is two.""",
    ),
    "criterion": (
        f"{{{', '.join(map(repr, NUMBER_CRITERIA))}}} or callable",
        """\
How good a split is: goodness, the larger the better. 'squared_error': how much it reduces the
squared error; 'friedman_mse' is another name for it, for it orders splits alike. 'poisson': half
the Poisson deviance, for counts and rates (y of 0 and more; no side of a split may have a sum of
0). 'absolute_error': the distances from the median; then leaves say medians, and trees are pruned
by distances (with 'poisson', by squared errors). A function is called with two vectors, for
the left and the right side of the split: weight, mean of each output, sum of squared distances
from the means. It returns a number; a split is made only where the number is positive, or, with
`zero_gain_splits`, where there is no other.""",
    ),
    "pruning": (
        "{'auto', 'holdout', 'cv', 'reduced_error'}, Pruner or None",
        """\
How the tree is cut back after it has been grown. 'auto': as 'cv' up to 3,000 rows, as 'holdout'
with more. 'holdout': a part of the rows is held
out, the others grow the tree, and of its cost-complexity sequence the tree with the smallest
squared error on the rows held out is taken. 'cv': all rows grow the tree, and the price
of a leaf is chosen by cross-validation, for which `n_folds` more trees are grown.
'reduced_error': as 'holdout', but each split is cut that the rows held out do not need. A
`Pruner` of one's own: see :class:`obliqua.prune.Pruner`. `None`: not at all. Of equally
good trees the smallest is taken. With too few rows to hold one out, all of them grow the tree,
and it is not pruned.""",
    ),
    "n_se": (
        "float",
        """\
'holdout' and 'cv' take the smallest tree whose squared error is at most so many standard errors
above the least: those of the difference between both trees, row by row. 0 asks for the least.
Weights count as numbers of rows if they are all whole numbers, and otherwise as if their mean
were 1.""",
    ),
    "prune_root": ("bool", "Whether the root's split may be cut too."),
    "ccp_alpha": (
        "float or None",
        """\
The price of a leaf, in squared units of y (with 'absolute_error' in units of y). A number takes
the place of `pruning`: all rows grow the tree, and the tree with the smallest sum of mean squared
error (or mean distance) and price of its leaves is taken. 0 prunes nothing at all, as in
scikit-learn. `None` lets `pruning` decide.""",
    ),
}
NUMBER_ATTRIBUTES: dict[str, tuple[str, str]] = {
    "model_": ("Model", "The tree together with the encoding of the columns."),
    "n_outputs_": ("int", "The number of outputs."),
}


def entry(name: str, kind: str, text: str) -> str:
    """Write one entry of a numpydoc section."""
    return f"{name} : {kind}\n{indent(text, '    ')}\n"


def section(title: str, entries: list[str]) -> str:
    """Write a numpydoc section."""
    return "\n".join([title, "-" * len(title), *entries]).rstrip()


def document(
    attributes: dict[str, tuple[str, str]] | None = None,
    /,
    without: tuple[str, ...] = (),
    **own: tuple[str, str],
) -> Callable[[Class], Class]:
    """Make a class decorator that fills the marked sections of a docstring."""

    def decorate(cls: Class) -> Class:
        if cls.__doc__ is None:  # python -OO takes docstrings away
            return cls
        texts = PARAMETERS | own
        parameters = [
            entry(name, f"{texts[name][0]}, default={parameter.default!r}", texts[name][1])
            for name, parameter in inspect.signature(cls).parameters.items()
        ]
        fitted = ATTRIBUTES | (attributes or {})
        fitted = {name: fitted[name] for name in fitted if name not in without}
        entries = [entry(name, kind, text) for name, (kind, text) in fitted.items()]
        doc = inspect.cleandoc(cls.__doc__)
        doc = doc.replace("[parameters]", section("Parameters", parameters))
        doc = doc.replace("[attributes]", section("Attributes", entries))
        cls.__doc__ = doc
        return cls

    return decorate
