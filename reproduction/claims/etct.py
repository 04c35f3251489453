"""What the paper on 2C-ETCT concludes (De Bruyne, Plastria).

Its rows are not published. Those with clusters depend on a layout that was chosen with the paper's
table in sight, see `reproduction.papers.etct`.
"""

from __future__ import annotations

from reproduction.claims.evidence import ACCURACY, Claim, against
from reproduction.own import etct_clusters
from reproduction.papers import etct

__all__ = ["CLAIMS"]

CLUSTERS = etct_clusters.TABLE.name
LAYOUTS = {
    f"{layout}, steps of {distance}": tuple(
        etct_clusters.set_name(layout, distance, d) for d in etct_clusters.DIMENSIONS
    )
    for layout in etct_clusters.LAYOUTS
    for distance in etct_clusters.DISTANCES
}
T1, T2, T3 = (table.name for table in (etct.TABLE_1, etct.TABLE_2, etct.TABLE_3))
EVERY = tuple(one.name for one in etct.TABLE_1.data_sets)
LINEAR = ("Bayes", "SVM")
_LAYOUT = "Where the clusters lie is not published; the verdict is about our layout."

CLAIMS = (
    Claim(
        "sections 7.1 and 8",
        "Where linear classifiers are best, 2C-ETCT is as accurate as naive Bayes and a linear "
        "support vector machine.",
        {"": against(T1, EVERY, etct.OURS, "same", LINEAR, ACCURACY)},
    ),
    Claim(
        "sections 7.1 and 8",
        "There 2C-ETCT is more accurate than C4.5.",
        {"": against(T1, EVERY, etct.OURS, "more", ("C4.5",), ACCURACY)},
    ),
    Claim(
        "section 7.2",
        "With small clusters 2C-ETCT significantly outperforms naive Bayes and the support vector "
        "machine.",
        {
            "table 2": against(T2, EVERY, etct.OURS, "more", LINEAR, ACCURACY),
            **{
                name: against(CLUSTERS, sets, etct.OURS, "more", LINEAR, ACCURACY)
                for name, sets in LAYOUTS.items()
            },
        },
        note=(
            "Where the clusters lie is not published. *Table 2* has the layout that was chosen "
            "with the paper's figures in sight; the others have 5, 8 and 11 features."
        ),
    ),
    Claim(
        "section 7.2",
        "With small clusters C4.5 still does not outperform any of the others.",
        {"": against(T2, EVERY, "C4.5", "not more", (etct.OURS, *LINEAR), ACCURACY)},
        note=_LAYOUT,
    ),
    Claim(
        "section 8",
        "With small clusters 2C-ETCT significantly outperforms C4.5.",
        {"": against(T2, EVERY, etct.OURS, "more", ("C4.5",), ACCURACY)},
        note=_LAYOUT,
    ),
    Claim(
        "abstract, sections 7.3 and 8",
        "On glass of windows 2C-ETCT outperforms naive Bayes, the support vector machine and "
        "C4.5.",
        {"": against(T3, ("windows",), etct.OURS, "more", etct.OTHERS, ACCURACY)},
    ),
)
