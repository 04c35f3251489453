"""What the paper on orthogonal decision trees concludes (Kargupta, Dutta, 2004).

It does not say what was run, so its conclusions have several readings; see
`reproduction.papers.odt`. Test rows are fixed, and repeats are seeds of the samples.
"""

from __future__ import annotations

from reproduction.claims.evidence import (
    ACCURACY,
    BALANCED,
    NODES,
    SHARE,
    Claim,
    Comparison,
    Measure,
    against,
)
from reproduction.papers import odt
from reproduction.papers.odt_shown import PAPER_SHARES

__all__ = ["CLAIMS"]

T1, T2 = odt.TABLE_1.name, odt.TABLE_2.name
SPECT = (odt.TEST,)
SAMPLES = tuple(odt.SAMPLES)


def _against(
    table: str, names: tuple[str, ...], order: str, others: tuple[str, ...], measure: Measure
) -> dict[str, tuple[Comparison, ...]]:
    """Trees of each sample against others; SIZE in their names stands for its size."""
    return {
        f"{name}/{size}": against(
            table,
            SPECT,
            f"{name}/{size}",
            order,
            tuple(other.replace("SIZE", str(size)) for other in others),
            measure,
        )
        for name in names
        for size in SAMPLES
    }


def _beside(measure: Measure) -> dict[str, tuple[Comparison, ...]]:
    """Each reading of orthogonal trees against all that the paper sets beside them."""
    readings, others = ("ODT", "ODT-sum", "ODT-sum3"), ("C4.5", "bagging/SIZE", "AFT/SIZE")
    return _against(T1, readings, "more", others, measure)


CLAIMS = (
    Claim(
        "section 4, table 1",
        "Orthogonal trees have a lower error than C4.5, bagging and the aggregated Fourier tree.",
        _beside(ACCURACY),
        note=(
            "The published error is that of answering 1 for every test row, which is what "
            "*ODT-sum3* does; see the next conclusion."
        ),
    ),
    Claim(
        "section 4, table 1",
        "The same by balanced accuracy, in which giving one answer for every row is worth "
        "nothing.",
        _beside(BALANCED),
        note="The paper does not speak of it.",
    ),
    Claim(
        "sections 1 and 4",
        "Orthogonal trees are an accurate representation of the ensemble: as accurate as bagging.",
        _against(T1, ("ODT",), "same", ("bagging/SIZE",), ACCURACY),
    ),
    Claim(
        "section 4, table 1",
        "The aggregated Fourier tree has a lower error than bagging.",
        _against(T1, ("AFT",), "more", ("bagging/SIZE",), ACCURACY),
    ),
    Claim(
        "section 4, table 2",
        "Aggregated and orthogonal trees are smaller than the bagged trees and than C4.5's.",
        _against(T2, ("AFT-whole", "ODT-32", "ODT-sum3"), "less", ("bagging/SIZE", "C4.5"), NODES),
        note=(
            "*AFT-whole* answers what the aggregated function answers. *ODT-sum3* are trees of "
            "three nodes by construction."
        ),
    ),
    Claim(
        "section 4",
        "The first component has nearly all of the variance: more than 99 %.",
        {
            f"labels {labels}, {name}/{size}": against(
                T2, SPECT, f"{name}/{size}", "more", (0.99,), SHARE
            )
            for labels, name in (("0 and 1", "AFT"), ("-1 and 1", "AFT+-1"), ("1 and 2", "AFT12"))
            for size in SAMPLES
        },
        note=f"{PAPER_SHARES[0]:.2f} % in the paper.",
    ),
)
