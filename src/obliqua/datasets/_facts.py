"""What is known about each data set: shape, class counts and a fingerprint of its content."""

from __future__ import annotations

import hashlib
import string
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from obliqua._typing import AnyArray

# Every value of the sets below has at most this many decimals. As whole numbers they are the
# same bytes on every machine, whichever reader has turned the text into doubles.
DECIMALS = 6


@dataclass(frozen=True)
class DataPart:
    """A table of a data set: the only one, or the one to train or to test on."""

    file: str
    class_counts: Mapping[str, int]
    fingerprint: str

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.class_counts.values())


@dataclass(frozen=True)
class OpenML:
    """Where OpenML keeps a data set, and what its labels are called here."""

    number: int
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Facts:
    """A data set as the papers used it."""

    name: str
    title: str
    features: tuple[str, ...]
    parts: Mapping[str, DataPart]
    about: str
    openml: OpenML | None = None
    qualitative: tuple[str, ...] = ()

    @property
    def categorical_features(self) -> list[int]:
        """The positions of the qualitative columns."""
        return [self.features.index(name) for name in self.qualitative]

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels, in the order of the papers."""
        return tuple(next(iter(self.parts.values())).class_counts)


def fingerprint(data: AnyArray, target: AnyArray) -> str:
    """Checksum of rows and labels that does not depend on the order of the rows.

    A column is text if its first entry is; all others hold numbers.
    """
    digest = hashlib.sha256()
    columns: list[AnyArray] = []
    for column in data.T:
        if column.size and isinstance(column[0], str):
            levels, codes = np.unique(column.astype(np.str_), return_inverse=True)
            digest.update("\n".join(levels.tolist()).encode())
            columns.append(codes)
        else:
            columns.append(np.rint(column.astype(np.float64) * 10.0**DECIMALS))
    columns.append(np.unique(target, return_inverse=True)[1])
    table = np.column_stack(columns).astype("<i8")
    in_order = table[np.lexsort(table.T[::-1])]
    digest.update(np.ascontiguousarray(in_order).tobytes())
    return digest.hexdigest()


def _one(file: str, class_counts: Mapping[str, int], fingerprint: str) -> dict[str, DataPart]:
    return {"all": DataPart(file, class_counts, fingerprint)}


LETTER_COUNTS = (
    *(789, 766, 736, 805, 768, 775, 773, 734, 755, 747, 739, 761, 792),
    *(783, 753, 803, 783, 758, 748, 796, 813, 764, 752, 787, 786, 734),
)
SHUTTLE_CLASSES = (
    *("Rad.Flow", "Fpv.Close", "Fpv.Open", "High", "Bypass", "Bpv.Close", "Bpv.Open"),
)
SHUTTLE_TRAIN = (34108, 37, 132, 6748, 2458, 6, 11)
SHUTTLE_TEST = (11478, 13, 39, 2155, 809, 4, 2)
GLASS_LABELS = {
    "build wind float": "1",
    "build wind non-float": "2",
    "vehic wind float": "3",
    "vehic wind non-float": "4",
    "containers": "5",
    "tableware": "6",
    "headlamps": "7",
}

GLASS_FEATURES = ("RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe")
WINDOWS = ("1", "2", "3", "4")  # types of glass

ADULT_FEATURES = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status"),
    *("occupation", "relationship", "race", "sex", "capital-gain", "capital-loss"),
    *("hours-per-week", "native-country"),
)

SETS = (
    Facts(
        "adult",
        "Income (Adult), complete rows",
        ADULT_FEATURES,
        {
            "train": DataPart(
                "adult_train.csv.gz",
                {"<=50K": 22654, ">50K": 7508},
                "341049c33facd0914061114b7947279e44e8a35d7ab2671f1b249c755ad01524",
            ),
            "test": DataPart(
                "adult_test.csv",
                {"<=50K": 11360, ">50K": 3700},
                "1b6ca5cc1664b30b5b6d751562fd2b92fac36c36b86eb2f7559eedac4a0fc621",
            ),
        },
        "Whether a person earns more than 50 thousand dollars a year, from the census of 1994. "
        "Training and test rows are fixed. The rows with missing values are left out, as in the "
        "papers: 2399 of the training rows and 1221 of the test rows.",
        OpenML(1590),
        (
            *("workclass", "education", "marital-status", "occupation", "relationship", "race"),
            *("sex", "native-country"),
        ),
    ),
    Facts(
        "australian",
        "Statlog Australian credit approval",
        tuple(f"A{number}" for number in range(1, 15)),
        _one(
            "australian.csv",
            {"0": 383, "1": 307},
            "19afa9aaecbfea557fd2874435e9e0a71e2a1f78d39bba6e1700e8bdf726063e",
        ),
        "Applications for credit cards; names and levels are hidden by their source. Levels are "
        "text here, although they look like numbers.",
        OpenML(40981),
        ("A1", "A4", "A5", "A6", "A8", "A9", "A11", "A12"),
    ),
    Facts(
        "balance_scale",
        "Balance Scale",
        ("left_weight", "left_distance", "right_weight", "right_distance"),
        _one(
            "balance_scale.csv",
            {"B": 49, "L": 288, "R": 288},
            "f2d717977053befc8a5c828fbca9f6ed16ecb8187ebd25d0c58346834ef5b9c4",
        ),
        "Which side of a balance goes down: every combination of two weights and two distances "
        "from 1 to 5. The class follows from the features without noise.",
        # It needs no OpenML: the rows are made from this definition.
    ),
    Facts(
        "bank_full",
        "Bank marketing, all rows",
        (
            *("age", "job", "marital", "education", "default", "balance", "housing", "loan"),
            *("contact", "day", "month", "duration", "campaign", "pdays", "previous", "poutcome"),
        ),
        _one(
            "bank_full.csv.gz",
            {"no": 39922, "yes": 5289},
            "470bfd143ef00826908b763b586d52f6e0d795e17d7ad2ed311af8dbdc351967",
        ),
        "Whether a client of a bank accepted an offer by telephone. In four columns 'unknown' is "
        "a level like others, not a missing value.",
        OpenML(1461, {"1": "no", "2": "yes"}),
        (
            *("job", "marital", "education", "default", "housing", "loan", "contact", "month"),
            "poutcome",
        ),
    ),
    Facts(
        "boston_housing",
        "Boston Housing, two classes",
        (
            *("crim", "zn", "indus", "chas", "nox", "rm", "age", "dis", "rad", "tax"),
            *("ptratio", "b", "lstat"),
        ),
        _one(
            "boston_housing.csv",
            {"1": 246, "2": 260},
            "c704dc64712df5abb516cf237db84d4b4fedba6e26a4b50b6fa91a8f5e91a146",
        ),
        "Census tracts of Boston (Harrison and Rubinfeld 1978). Class 1: the median value of a "
        "home is below 21 thousand dollars; class 2: it is not.",
        OpenML(531),
    ),
    Facts(
        "breast_cancer_wisconsin",
        "Breast Cancer Wisconsin (original), complete rows",
        (
            *("Cl.thickness", "Cell.size", "Cell.shape", "Marg.adhesion", "Epith.c.size"),
            *("Bare.nuclei", "Bl.cromatin", "Normal.nucleoli", "Mitoses"),
        ),
        _one(
            "breast_cancer_wisconsin.csv",
            {"benign": 444, "malignant": 239},
            "5e24a9c07e60d69ff97e8088fde03dfe8e2851e2a34f0a796951ee83cfaaa5a7",
        ),
        "Nine cytological scores from 1 to 10. The 16 rows with missing values are left out. "
        "This is not the data set of sklearn.datasets.load_breast_cancer.",
        OpenML(15),
    ),
    Facts(
        "bupa",
        "BUPA liver disorders",
        ("mcv", "alkphos", "sgpt", "sgot", "gammagt", "drinks"),
        _one(
            "bupa.csv",
            {"1": 145, "2": 200},
            "4f5985b5b299d3b4da7a1683e5cc46efd5fc0edf0f5bd538721611f943e03ec9",
        ),
        "Blood tests and drinks per day. The class is the field that its source calls selector, "
        "as in the papers.",
        OpenML(8),
    ),
    Facts(
        "glass",
        "Glass identification",
        GLASS_FEATURES,
        _one(
            "glass.csv",
            {"1": 70, "2": 76, "3": 17, "5": 13, "6": 9, "7": 29},
            "79006d0d3469f68b1ff4115156a1343a6db7c772533e7c9be56d31517c9771dd",
        ),
        "Refractive index and oxides of six types of glass. A type 4 is defined, but has no row.",
        OpenML(41, GLASS_LABELS),
    ),
    Facts(
        "glass_windows",
        "Glass identification, windows against other glass",
        GLASS_FEATURES,
        _one(
            "glass_windows.csv",
            {"window": 163, "non-window": 51},
            "c163cd8f7f67fdc27b709f617ae7c5b0e7e4ab26078f5bb67d31aed105c50ec5",
        ),
        "The rows of the glass data with two classes: glass of windows, types 1 to 3, and all "
        "other glass. The subclasses are hidden, as in the paper on 2C-ETCT.",
        OpenML(
            41,
            {
                name: "window" if kind in WINDOWS else "non-window"
                for name, kind in GLASS_LABELS.items()
            },
        ),
    ),
    Facts(
        "haberman",
        "Haberman's survival",
        ("age", "year", "positive_nodes"),
        _one(
            "haberman.csv",
            {"1": 225, "2": 81},
            "92a0d306249ff2f64e6958be244fe1ba8546da2a6b20fb161e3f2874f652fa8b",
        ),
        "Patients after surgery for breast cancer. Class 1: lived five years or longer.",
        OpenML(43),
    ),
    Facts(
        "heart",
        "Statlog heart",
        (
            *("age", "sex", "chest_pain", "rest_bp", "serum_chol", "fasting_bs", "rest_ecg"),
            *("max_hr", "exercise_angina", "oldpeak", "slope", "major_vessels", "thal"),
        ),
        _one(
            "heart.csv",
            {"1": 150, "2": 120},
            "186f9bd618dc5e7fb66952dfe2b482428c27372390cc363dd7c3bca4876c60a2",
        ),
        "Class 1: no heart disease; class 2: heart disease. Some columns are codes of levels and "
        "are taken as numbers, as in the papers.",
        OpenML(53, {"absent": "1", "present": "2"}),
    ),
    Facts(
        "iris",
        "Iris, as in the UCI archive",
        ("sepal_length", "sepal_width", "petal_length", "petal_width"),
        _one(
            "iris.csv",
            {"Iris-setosa": 50, "Iris-versicolor": 50, "Iris-virginica": 50},
            "10ba9dd4360d7ca8180930d8312167721d8013a0633a5e28b868ca9954853c47",
        ),
        "The version of the papers, in which two rows of setosa differ from Fisher's and from "
        "those of sklearn.datasets.load_iris.",
        # scikit-learn's copy serves, with the two rows put back.
    ),
    Facts(
        "letter",
        "Letter recognition",
        (
            *("x.box", "y.box", "width", "high", "onpix", "x.bar", "y.bar", "x2bar", "y2bar"),
            *("xybar", "x2ybr", "xy2br", "x.ege", "xegvy", "y.ege", "yegvx"),
        ),
        _one(
            "letter.csv",
            dict(zip(string.ascii_uppercase, LETTER_COUNTS, strict=True)),
            "50f8a4ead62f3dc4b4fdbaf6713a29f46297e6719dcdabf6d76b69197019f90e",
        ),
        "Distorted images of capital letters, described by 16 whole numbers from 0 to 15.",
        OpenML(6),
    ),
    Facts(
        "pima",
        "Pima Indians diabetes",
        ("pregnant", "glucose", "pressure", "triceps", "insulin", "mass", "pedigree", "age"),
        _one(
            "pima.csv",
            {"neg": 500, "pos": 268},
            "d4073a08fc3c703fe7ef5456684a65269b0cc4584716fa96ff6ce5afb78e9580",
        ),
        "Zeros in glucose, pressure, triceps, insulin and mass stand for missing values; they "
        "are kept as zeros, as in the papers.",
        OpenML(37, {"tested_negative": "neg", "tested_positive": "pos"}),
    ),
    Facts(
        "shuttle",
        "Statlog Shuttle",
        tuple(f"V{number}" for number in range(1, 10)),
        {
            "train": DataPart(
                "shuttle_train.csv",
                dict(zip(SHUTTLE_CLASSES, SHUTTLE_TRAIN, strict=True)),
                "ff209eebbe8f0c470824d132afd479a536b7614e9f66f4bc72e0846298dd1471",
            ),
            "test": DataPart(
                "shuttle_test.csv",
                dict(zip(SHUTTLE_CLASSES, SHUTTLE_TEST, strict=True)),
                "dea21000be5b373d7cec3ca6969ac19bdb17a8ac537f2693732997498018451f",
            ),
        },
        "States of a radiator of the space shuttle. Training and test rows are fixed.",
        OpenML(40685, {str(i): name for i, name in enumerate(SHUTTLE_CLASSES, start=1)}),
    ),
    Facts(
        "spect",
        "SPECT heart images",
        tuple(f"F{number}" for number in range(1, 23)),
        {
            "train": DataPart(
                "spect_train.csv",
                {"0": 40, "1": 40},
                "8cd8b2ee97026a2c89c093c5c834c0080df0fddb834e9df56e4421c7af81fad1",
            ),
            "test": DataPart(
                "spect_test.csv",
                {"0": 15, "1": 172},
                "dbd5e3a5f85d3c5226ecef4cab2cafb98566b3d49ea0bbfc1dad4fde5c66f25b",
            ),
        },
        "Images of hearts by single photon emission computed tomography, as 22 features of two "
        "values each. Class 1: abnormal. Training and test rows are fixed; the former have as "
        "many rows of each class, of the latter 92 in 100 are of class 1.",
        # OpenML has the rows without saying which are to be trained on.
    ),
    Facts(
        "wine",
        "Wine",
        (
            *("alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium"),
            *("total_phenols", "flavanoids", "nonflavanoid_phenols", "proanthocyanins"),
            *("color_intensity", "hue", "od280_od315_of_diluted_wines", "proline"),
        ),
        _one(
            "wine.csv",
            {"1": 59, "2": 71, "3": 48},
            "56694619bf13efaa3e4f3e6167bfcac4509b563d03442b2c5bc68456d2627327",
        ),
        "Chemical analyses of wines from three growers.",
        # scikit-learn's copy serves.
    ),
)
FACTS = {facts.name: facts for facts in SETS}
