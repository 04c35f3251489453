"""Tables 1 and 2 of the OC1 paper.

S. K. Murthy, S. Kasif, S. Salzberg (1994). *A system for induction of oblique decision trees*.
Journal of Artificial Intelligence Research 2, 1-32.

**Table 1**: ten five-fold cross-validations, simple random folds, on data from elsewhere. OC1,
CART-LC and OC1-AP: twoing, 20 restarts and 5 jumps, a tenth of the rows to train on held out for
pruning, cost complexity, zero standard errors. Its star and galaxy data are not to be had; their
figures are here all the same.

**CART-AP and C4.5** of table 1 are those of the IND package. Of its CART we know the name of the
style only, ``cart0``, and take the 0 for zero standard errors. So *CART-AP* is CART as its book
has it: gini, cost complexity, ten-fold cross-validation inside each training set, and the root
may be pruned too; *CART-AP+1se* has one standard error. It is our `CartClassifier`: scikit-learn's
tree is the same method, but does not choose the price of a leaf by itself. *C4.5/93* is C4.5 as it
was then, without the correction of gains that came with release 8 in 1996; *C4.5* has it.

**Table 2**: the same without pruning on 2000 points of LS10, POL and RCB, for numbers of restarts
and random jumps. LMDT and SADT: information gain; SADT stops after 10,000 changes in vain. The
paper's figures for RCB are no bar: the original program does not reach them on the paper's own
points.

In the place of a prototype's figures stand those of the original program, version 3, which was
run on the same data with the seeds 1 to 10. Standard deviations are those of the ten
cross-validations, in the paper too, except for CART-AP and C4.5: theirs are three to five times
as large as those of the others on the same data, as deviations between folds are. Two of them are
a wide gate, which means over ten cross-validations should pass by far. Where the paper and its
program differ, our trees should do as the program does: the methods with ``+program`` have its
settings, as far as they can be had, and stand beside ours. Both are judged by the paper's figures;
a published number is counted once, by ``+program``.

**Hyperplanes** of the program are its changes of a coefficient and its jumps; ours count the
random starts too, as the paper may. Axis-parallel searches are not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from obliqua import datasets
from obliqua.select.methods import Method
from obliqua.select.result import Figure
from reproduction.entries import TableEntry
from reproduction.figures import Remark
from reproduction.protocol import DataSet
from reproduction.rows import ExperimentRows
from reproduction.tables import PaperTable

__all__ = [
    "C45_1993",
    "FAILURES",
    "METHODS_1",
    "METHODS_2",
    "MISPRINTS",
    "PROGRAM_1",
    "PROGRAM_2",
    "PUBLISHED_1",
    "PUBLISHED_2",
    "READINGS",
    "RUNS",
    "TABLE_1",
    "TABLE_2",
]

# OC1 with the option -a: nodes of two rows are split, one of no use is not.
_AP: dict[str, Any] = {"criterion": "twoing", "min_samples_split": 2, "zero_gain_splits": False}


def _axis(title: str, **more: Any) -> Method:
    return Method("OC1-AP", title, "obliqua.CartClassifier", {**_AP, **more})


def _climb(name: str, title: str, **params: Any) -> Method:
    return Method(name, title, "obliqua.OC1Classifier", params)


def _restarts_and_jumps(restarts: int, jumps: int, suffix: str = "", **params: Any) -> Method:
    """Name a run as the paper's table 2 does: its restarts do not count the first start."""
    return _climb(
        f"{restarts}:{jumps}{suffix}",
        f"{restarts} restarts, {jumps} random jumps, not pruned",
        n_restarts=max(restarts, 1),
        n_jumps=jumps,
        pruning=None,
        **params,
    )


def _linear_combinations(pruning: str | None) -> tuple[Method, ...]:
    where = "obliqua.CartLCClassifier"
    return (
        Method("CART-LC", "as in the OC1 program", where, {"variant": "oc1", "pruning": pruning}),
        Method("CART-LC+book", "as in Breiman et al. (1984)", where, {"pruning": pruning}),
    )


def _cart(name: str, title: str, **params: Any) -> Method:
    book = {"criterion": "gini", "pruning": "cv", "n_folds": 10, "prune_root": True}
    return Method(name, title, "obliqua.CartClassifier", {**book, **params})


#: C4.5 of the time of the paper.
C45_1993 = Method(
    "C4.5/93",
    "without the correction of gains",
    "obliqua.C45Classifier",
    {"mdl_correction": False},
)

METHODS_1 = (
    _climb("OC1", "20 restarts, 5 jumps"),
    _climb("OC1+raw", "features as they are", scale=None),
    _climb("OC1+standard", "features divided by their deviations", scale="standard"),
    _climb("OC1+blind", "jumps as in the original program", jump_search="program"),
    _climb(
        "OC1+program",
        "features and jumps as in the original program",
        scale=None,
        jump_search="program",
    ),
    _climb("OC1+fisher", "one start along Fisher's direction", guided_start="fisher"),
    _climb("OC1+hhcart", "one start along HHCART's direction", guided_start="householder"),
    _climb("OC1+2", "two starts", n_restarts=2),
    _climb(
        "OC1+2+fisher",
        "two starts, one along Fisher's direction",
        n_restarts=2,
        guided_start="fisher",
    ),
    _climb("OC1+constant", "the constant changes too", perturb_constant=True),
    _climb("OC1+paper", "changes without gain as in the paper", stagnation="paper"),
    _climb("OC1+best", "the coefficient that gains most", order="best"),
    _climb("OC1+random", "any coefficient, fifty times", order="random", n_picks=50),
    _climb("OC1+backward", "features of little use are left out", feature_selection="backward"),
    _climb("OC1+forward", "features join one by one", feature_selection="forward"),
    *_linear_combinations("holdout"),
    _axis("axis-parallel splits only", pruning="holdout"),
    _cart("CART-AP", "CART, pruned by cross-validation, 0 standard errors", n_se=0.0),
    C45_1993,
    # What the paper does not have.
    _cart("CART-AP+1se", "CART, pruned by cross-validation, 1 standard error", n_se=1.0),
    Method("C4.5", "C4.5, release 8", "obliqua.C45Classifier"),
)
_PROGRAM: dict[str, Any] = {"scale": None, "jump_search": "program"}
METHODS_2 = (
    *(_restarts_and_jumps(r, j) for r, j in ((0, 0), (0, 20), (20, 0), (20, 20), (10, 200))),
    *(
        _restarts_and_jumps(r, j, "+program", **_PROGRAM)
        for r, j in ((0, 0), (0, 20), (20, 0), (20, 20), (10, 200))
    ),
    *(
        _restarts_and_jumps(r, j, "+blind", jump_search="program")
        for r, j in ((0, 20), (20, 20), (10, 200))
    ),
    _restarts_and_jumps(2, 5),
    _restarts_and_jumps(2, 5, "+fisher", guided_start="fisher"),
    _restarts_and_jumps(2, 5, "+hhcart", guided_start="householder"),
    _restarts_and_jumps(20, 5),
    _restarts_and_jumps(20, 5, "+fisher", guided_start="fisher"),
    *_linear_combinations(None),
    _axis("axis-parallel splits only, not pruned", pruning=None),
    Method(
        "SADT",
        "simulated annealing, patience 10,000, not pruned",
        "obliqua.SADTClassifier",
        {"criterion": "entropy", "patience": 10_000, "pruning": None},
    ),
    Method("LMDT", "linear machines, not pruned", "obliqua.LMDTClassifier", {"pruning": None}),
)


def _all_rows(load: Callable[..., Any]) -> Callable[[], ExperimentRows]:
    return lambda: ExperimentRows(*load(return_X_y=True))


DATA_SETS_1 = (
    DataSet("cancer", "Breast Cancer Wisconsin", _all_rows(datasets.load_breast_cancer_wisconsin)),
    DataSet("iris", "Iris", _all_rows(datasets.load_iris)),
    DataSet("housing", "Boston Housing", _all_rows(datasets.load_boston_housing)),
    DataSet("diabetes", "Pima Indians diabetes", _all_rows(datasets.load_pima)),
)

DATA_SETS_2 = (
    DataSet("LS10", "one hyperplane in ten dimensions", _all_rows(datasets.make_ls10)),
    DataSet("POL", "parallel oblique lines", _all_rows(datasets.make_pol)),
    DataSet("RCB", "rotated checker board", _all_rows(datasets.make_rcb)),
)

_UNKNOWN = float("nan")


def _entries(table: dict[str, dict[str, tuple[float, ...]]]) -> dict[str, dict[str, TableEntry]]:
    """By data set and method: accuracy, leaves, their deviations, hyperplanes, CPU ms."""
    return {
        data_set: {method: _entry(*figures) for method, figures in row.items()}
        for data_set, row in table.items()
    }


def _entry(
    accuracy: float,
    accuracy_sd: float,
    leaves: float,
    leaves_sd: float,
    hyperplanes: float = _UNKNOWN,
    cpu_ms: float = _UNKNOWN,
) -> TableEntry:
    return TableEntry(
        Figure(accuracy, accuracy_sd),
        Figure(leaves, leaves_sd),
        Figure(hyperplanes),
        Figure(cpu_ms),
    )


def _also(
    figures: dict[str, dict[str, TableEntry]], names: dict[str, str]
) -> dict[str, dict[str, TableEntry]]:
    """The same, with entries of some methods beside others too."""
    return {
        data_set: row | {new: row[old] for new, old in names.items() if old in row}
        for data_set, row in figures.items()
    }


#: Table 1 of the paper.
PUBLISHED_1 = _entries(
    {
        "bright": {
            "OC1": (98.9, 0.2, 4.3, 1.0),
            "CART-LC": (98.8, 0.2, 3.9, 1.3),
            "OC1-AP": (98.1, 0.2, 6.9, 2.4),
            "CART-AP": (98.5, 0.5, 13.9, 5.7),
            "C4.5/93": (98.5, 0.5, 14.3, 2.2),
        },
        "dim": {
            "OC1": (95.0, 0.3, 13.0, 8.7),
            "CART-LC": (92.8, 0.5, 24.2, 8.7),
            "OC1-AP": (94.0, 0.2, 29.3, 8.8),
            "CART-AP": (94.2, 0.7, 30.4, 10.0),
            "C4.5/93": (93.3, 0.8, 77.9, 7.4),
        },
        "cancer": {
            "OC1": (96.2, 0.3, 2.8, 0.9),
            "CART-LC": (95.3, 0.6, 3.5, 0.9),
            "OC1-AP": (94.5, 0.5, 6.4, 1.7),
            "CART-AP": (95.0, 1.6, 11.5, 7.2),
            "C4.5/93": (95.3, 2.0, 9.8, 2.2),
        },
        "iris": {
            "OC1": (94.7, 3.1, 3.1, 0.2),
            "CART-LC": (93.5, 2.9, 3.2, 0.3),
            "OC1-AP": (92.7, 2.4, 3.2, 0.3),
            "CART-AP": (93.8, 3.7, 4.3, 1.6),
            "C4.5/93": (95.1, 3.2, 4.6, 0.8),
        },
        "housing": {
            "OC1": (82.4, 0.8, 6.9, 3.2),
            "CART-LC": (81.4, 1.2, 5.8, 3.2),
            "OC1-AP": (81.8, 1.0, 8.6, 4.5),
            "CART-AP": (82.1, 3.5, 15.1, 10.0),
            "C4.5/93": (83.2, 3.1, 28.2, 3.3),
        },
        "diabetes": {
            "OC1": (74.4, 1.0, 5.4, 3.8),
            "CART-LC": (73.7, 1.2, 8.0, 5.2),
            "OC1-AP": (73.8, 1.0, 11.4, 7.5),
            "CART-AP": (73.9, 3.4, 11.5, 9.1),
            "C4.5/93": (71.4, 3.3, 56.3, 7.9),
        },
    }
)

PUBLISHED_1 = _also(PUBLISHED_1, {"OC1+program": "OC1"})

#: The same from the original program: on the features as they are, and (beside OC1+blind, which
#: is what our trees do there) with each feature divided by its range beforehand.
PROGRAM_1 = _entries(
    {
        "cancer": {
            "OC1": (95.43, 0.30, 2.70, 0.80, 7993, 185.8),
            "CART-LC": (95.42, 0.56, 4.50, 1.74, 535, 9.91),
            "OC1-AP": (94.06, 0.87, 6.68, 3.41, _UNKNOWN, 1.88),
            "OC1+blind": (96.25, 0.51, 2.84, _UNKNOWN),
        },
        "iris": {
            "OC1": (95.47, 0.82, 3.04, 0.13, 1167, 7.34),
            "CART-LC": (91.80, 4.35, 3.12, 0.17, 81, 0.69),
            "OC1-AP": (91.07, 4.52, 3.26, 0.41, _UNKNOWN, 0.4),
            "OC1+blind": (93.73, 4.58, 3.04, _UNKNOWN),
        },
        "housing": {
            "OC1": (82.98, 1.58, 5.98, 2.18, 12298, 149.72),
            "CART-LC": (82.83, 1.39, 8.70, 2.21, 1160, 15.21),
            "OC1-AP": (82.17, 1.22, 9.80, 2.99, _UNKNOWN, 3.12),
            "OC1+blind": (83.69, 0.95, 4.64, _UNKNOWN),
        },
        "diabetes": {
            "OC1": (73.24, 1.77, 6.74, 4.23, 28803, 273.47),
            "CART-LC": (73.77, 0.62, 8.86, 6.56, 2267, 24.24),
            "OC1-AP": (74.35, 1.13, 10.70, 7.02, _UNKNOWN, 3.42),
            "OC1+blind": (72.97, 1.37, 8.06, _UNKNOWN),
        },
    }
)

PROGRAM_1 = _also(PROGRAM_1, {"OC1+program": "OC1"})

#: Table 2 of the paper; methods are numbers of restarts and jumps, or named.
PUBLISHED_2 = _entries(
    {
        "LS10": {
            "0:0": (89.8, 1.2, 67.0, 5.8, 2756),
            "0:20": (91.5, 1.5, 55.2, 7.0, 3824),
            "20:0": (95.0, 0.6, 25.6, 2.4, 24913),
            "20:20": (97.2, 0.7, 13.9, 3.2, 30366),
            "LMDT": (99.7, 0.2, 2.2, 0.5, 9089),
            "SADT": (95.2, 1.8, 15.5, 5.7, 349067),
        },
        "POL": {
            "0:0": (98.3, 0.3, 21.6, 1.9, 164),
            "0:20": (99.3, 0.2, 9.0, 1.0, 360),
            "20:0": (99.1, 0.2, 14.2, 1.1, 3230),
            "20:20": (99.6, 0.1, 5.5, 0.3, 4852),
            "LMDT": (89.6, 10.2, 41.9, 19.2, 1732),
            "SADT": (99.3, 0.4, 8.4, 2.1, 85594),
        },
        "RCB": {
            "0:0": (98.4, 0.2, 35.5, 1.4, 573),
            "0:20": (99.3, 0.3, 19.7, 0.8, 1778),
            "20:0": (99.6, 0.2, 12.0, 1.4, 6436),
            "20:20": (99.8, 0.1, 8.7, 0.4, 11634),
            "LMDT": (95.7, 2.3, 70.1, 9.6, 2451),
            "SADT": (97.9, 1.1, 32.5, 4.9, 359112),
        },
    }
)

#: Restarts and jumps of the paper's table 2.
RUNS = ("0:0", "0:20", "20:0", "20:20")

PUBLISHED_2 = _also(PUBLISHED_2, {f"{run}+program": run for run in RUNS})

#: The same from the original program, which knows neither LMDT nor SADT; and what the paper's
#: table does not have.
PROGRAM_2 = _entries(
    {
        "LS10": {
            "0:0": (89.38, 0.92, 65.88, 4.00, 1568, 97.89),
            "0:20": (91.62, 0.88, 50.82, 4.01, 2314, 172.95),
            "20:0": (95.61, 0.66, 26.20, 2.42, 15970, 1574.16),
            "20:20": (97.61, 0.37, 14.30, 2.23, 19148, 2245.2),
            "OC1-AP": (74.81, 0.60, 198.88, 3.04, _UNKNOWN, 15.64),
            "CART-LC": (93.44, 1.04, 41.82, 5.91, 2587, 187.43),
            # Two cross-validations, whose deviation says little.
            "10:200": (99.18, _UNKNOWN, 4.80, _UNKNOWN, 16589, 2511.4),
        },
        "POL": {
            "0:0": (98.56, 0.42, 24.36, 3.87, 167, 12.92),
            "0:20": (99.23, 0.24, 9.68, 1.30, 260, 22.56),
            "20:0": (99.50, 0.16, 8.28, 0.71, 881, 97.5),
            "20:20": (99.64, 0.11, 5.14, 0.13, 2251, 304.85),
            "OC1-AP": (95.27, 0.45, 85.72, 1.26, _UNKNOWN, 3.02),
            "CART-LC": (98.98, 0.15, 17.00, 1.24, 221, 14.94),
        },
        "RCB": {
            "0:0": (94.58, 0.57, 87.24, 2.93, 578, 15.34),
            "0:20": (97.64, 0.33, 36.48, 2.12, 1180, 62.64),
            "20:0": (98.41, 0.21, 25.14, 2.11, 3661, 191.72),
            "20:20": (99.19, 0.15, 8.18, 0.20, 4783, 600.75),
            "OC1-AP": (93.27, 0.43, 109.44, 1.73, _UNKNOWN, 4.39),
            "CART-LC": (95.91, 0.40, 63.14, 3.20, 730, 26.5),
        },
    }
)

PROGRAM_2 = _also(PROGRAM_2, {f"{name}+program": name for name in (*RUNS, "10:200")})

_NOWHERE = "No public copy of the {} objects was found."

#: What in the paper cannot be right.
MISPRINTS = (
    Remark(
        "figure 4",
        "the split as v - delta (a_i + gamma) and the new constant as c - delta gamma",
        "It is v - delta (x_i + gamma), and the constant is c + delta gamma: so the program does.",
    ),
)

#: What does not come again, beside the figures of the tables.
FAILURES = (
    Remark(
        "table 1, cancer, OC1",
        "{oc1-table-1; cancer; OC1; accuracy; paper} %",
        "Version 3 of the paper's own program gives {oc1-table-1; cancer; OC1; accuracy; "
        "reference} on the same rows, our trees with its settings {oc1-table-1; cancer; "
        "OC1+program; accuracy; ours}, and HHCART's authors have had {hhcart-table-2; BC; "
        "OC1+program; accuracy; paper} from it. With each feature divided by its range the "
        "program gives {oc1-table-1; cancer; OC1+blind; accuracy; reference}, and our trees "
        "{oc1-table-1; cancer; OC1; accuracy; ours}: version 2 could do that.",
    ),
    Remark(
        "table 2, RCB",
        "{oc1-table-2; RCB; 0:0; accuracy; paper} % and {oc1-table-2; RCB; 0:0; leaves; paper} "
        "leaves without restarts and jumps, and the rows below",
        "On the paper's own points the program gives {oc1-table-2; RCB; 0:0; accuracy; "
        "reference} % and {oc1-table-2; RCB; 0:0; leaves; reference} leaves. No option of it that "
        "was tried brings them near.",
    ),
    Remark(
        "footnote 8",
        "10 restarts and 200 jumps consistently find the hyperplane of LS10",
        "Of {oc1-table-2; LS10; 10:200; leaves; trees} trees of ours {oc1-table-2; LS10; 10:200; "
        "leaves; trees 2} have two leaves, with the program's settings {oc1-table-2; LS10; "
        "10:200+program; leaves; trees 2}; the program itself has {oc1-table-2; LS10; 10:200; "
        "leaves; reference} leaves on the mean.",
    ),
)

#: What can be read in more than one way.
READINGS = (
    Remark(
        "section 3, the perturbation algorithm, and section 4, the experimental method",
        "features are taken to be positive, which normalising is to ensure; and normalising was "
        "not implemented",
        "The first stands where the value is derived at which a coefficient moves a row across "
        "the hyperplane, the second where CART-LC is described, of it and of OC1. Both cannot "
        "hold for features that are negative. Version 3 of the program shifts such features at "
        "the node and scales nothing; version 2 could scale. OC1+program does as version 3 does "
        "and is counted; OC1, ours, divides by ranges and counts from the smallest value at the "
        "node.",
    ),
    Remark(
        "section 2, CART-LC",
        "an end after 100 perturbations",
        "The program makes up to 101 cycles over all coefficients, and so does CART-LC here.",
    ),
    Remark(
        "table 1, CART-AP and C4.5",
        "standard deviations of ten cross-validations, as for the other methods",
        "They have the size of deviations between folds: our spreads are {oc1-table-1; *; "
        "CART-AP|C4.5/93; accuracy; spread} of them.",
    ),
)

#: Table 1: accuracy and size on four of its six data sets.
TABLE_1 = PaperTable(
    name="oc1-table-1",
    title="table 1 of OC1, without stars and galaxies",
    data_sets=DATA_SETS_1,
    methods=METHODS_1,
    standard=("OC1", "OC1+program", "CART-LC", "OC1-AP", "CART-AP", "C4.5/93"),
    published=PUBLISHED_1,
    readings={"OC1": "OC1+program"},
    misprints=MISPRINTS,
    prototype=PROGRAM_1,
    reference="program",
    effort=True,
    unavailable={"bright": _NOWHERE.format("2462 bright"), "dim": _NOWHERE.format("4192 dim")},
    protocol=(
        "Ten five-fold cross-validations, simple random folds; a tenth of the rows to train on "
        "prunes the trees of the OC1 program (cost complexity, zero standard errors)."
    ),
    note=(
        "Standard deviations of CART-AP and C4.5/93 in the paper have the size of deviations "
        "between folds, those of the others of deviations between cross-validations, as ours have."
    ),
)

#: Table 2: accuracy and size on artificial data, without pruning.
TABLE_2 = PaperTable(
    name="oc1-table-2",
    title="table 2 of OC1",
    data_sets=DATA_SETS_2,
    methods=METHODS_2,
    standard=(
        *(f"{run}{whose}" for run in (*RUNS, "10:200") for whose in ("", "+program")),
        *("CART-LC", "OC1-AP", "SADT", "LMDT"),
    ),
    published=PUBLISHED_2,
    readings={run: f"{run}+program" for run in RUNS},
    misprints=MISPRINTS,
    prototype=PROGRAM_2,
    reference="program",
    effort=True,
    protocol=(
        "Ten five-fold cross-validations of 2000 points, simple random folds; nothing is pruned."
    ),
)
