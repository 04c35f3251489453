"""The papers' data sets: found on this machine or fetched, and checked before they are used.

No data are part of the package. A loader looks in the folder that the environment variable
``OBLIQUA_DATA`` names, then in a cache of what OpenML has delivered before (the folder that
``OBLIQUA_CACHE`` names, or ``~/.cache/obliqua`` and the like), then among the data that come with
scikit-learn, then on OpenML. What it finds is compared with a fingerprint of the data set, so
that another set of the same name is never used by mistake. The artificial data of the papers are
made: those of OC1 as its own rows, or any number of fresh ones; those of 2C-ETCT always fresh.
`make_planted_tree` has a random oblique tree to be found again.
"""

from obliqua.datasets._etct import make_normals_with_clusters, make_two_normals
from obliqua.datasets._loaders import (
    load_adult,
    load_australian,
    load_balance_scale,
    load_bank_full,
    load_boston_housing,
    load_breast_cancer_wisconsin,
    load_bupa,
    load_glass,
    load_glass_windows,
    load_haberman,
    load_heart,
    load_iris,
    load_letter,
    load_pima,
    load_shuttle,
    load_spect,
    load_wine,
)
from obliqua.datasets._oc1 import (
    load_oc1_figure5,
    load_star_galaxy,
    make_ls10,
    make_pol,
    make_rcb,
)
from obliqua.datasets._planted import make_planted_tree

__all__ = [
    "load_adult",
    "load_australian",
    "load_balance_scale",
    "load_bank_full",
    "load_boston_housing",
    "load_breast_cancer_wisconsin",
    "load_bupa",
    "load_glass",
    "load_glass_windows",
    "load_haberman",
    "load_heart",
    "load_iris",
    "load_letter",
    "load_oc1_figure5",
    "load_pima",
    "load_shuttle",
    "load_spect",
    "load_star_galaxy",
    "load_wine",
    "make_ls10",
    "make_normals_with_clusters",
    "make_planted_tree",
    "make_pol",
    "make_rcb",
    "make_two_normals",
]
