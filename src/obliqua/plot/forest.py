"""Pictures of a `Diagnosis`: eigenvalues, overlaps of trees, energy by feature."""

from __future__ import annotations

from typing import Any

import numpy as np

from obliqua._extras import require
from obliqua._typing import FloatArray, Int64Array
from obliqua.plot._canvas import (
    Font,
    axes_of,
    check_ax,
    check_limit,
    note_below,
    size_of_axes,
    write,
)
from obliqua.spectrum.diagnosis import Diagnosis
from obliqua.spectrum.energies import Energy, percent
from obliqua.words.colours import INK, PALE, mix

# Purple and green are told apart by colour-blind readers.
LOW, HIGH = "#762a83", "#1b7837"
BLUE, ORANGE = "#0072b2", "#d55e00"
SIZE = 8.0  # points
NAMED = 40  # trees beyond which they have no numbers at the edge
NAME = 2.0  # inches for the name of a feature
PURPOSE = "Drawing a diagnosis"
#: One feature alone, pairs, more together.
ORDERS = {"1": BLUE, "2": mix(BLUE, "#ffffff", 0.5), "more": PALE}
IN_WORDS = {"1": "single features", "2": "pairs", "more": "more together"}


def plot_eigenvalues(diagnosis: Diagnosis, *, max_components: int = 40, ax: Any = None) -> Any:
    """Draw how the energy of the trees of an ensemble divides among their components.

    Bars are the shares of the components, and the line adds them up. A forest whose trees all say
    the same has one bar; one whose trees have nothing in common has as many equal bars as trees.

    Parameters
    ----------
    diagnosis : Diagnosis
        What `obliqua.spectrum.diagnose` returned.
    max_components : int, default=40
        How many components to show at most.
    ax : matplotlib Axes, default=None
        Where to draw; without it, a figure is made.

    Returns
    -------
    matplotlib Axes
        What was drawn in. The bars have the gid ``shares``, the line ``sum``.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from obliqua import plot_eigenvalues
    >>> from obliqua.spectrum import diagnose
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, max_depth=2, random_state=0).fit(X, y)
    >>> ax = plot_eigenvalues(diagnose(forest))
    >>> ax.get_xlabel()
    'component'
    """
    _check(diagnosis, ax)
    check_limit("max_components", max_components, 1)
    most = max_components
    ax = axes_of(ax, (6.0, 3.4), PURPOSE)
    shares = 100.0 * diagnosis.shares[:most]
    collections = require("matplotlib.collections", "plot", PURPOSE)
    corners = [
        [(k + 0.6, 0.0), (k + 1.4, 0.0), (k + 1.4, share), (k + 0.6, share)]
        for k, share in enumerate(shares.tolist())
    ]
    bars = collections.PolyCollection(corners, facecolors=BLUE, linewidths=0.0, zorder=2)
    bars.set_gid("shares")
    ax.add_collection(bars, autolim=False)
    places = np.arange(1, len(shares) + 1)
    (line,) = ax.plot(places, np.cumsum(shares), color=ORANGE, marker=".", linewidth=1.2, zorder=3)
    line.set_gid("sum")
    ax.set(xlim=(0.4, len(shares) + 0.6), ylim=(0.0, 104.0))
    ax.set_xlabel("component", fontsize=SIZE + 1)
    ax.set_ylabel("share of the energy, %", fontsize=SIZE + 1)
    step = next(k for k in (1, 2, 5, 10, 20, 50, 100, len(shares)) if len(shares) <= 12 * k)
    ax.set(xticks=range(step, len(shares) + 1, step), yticks=range(0, 101, 20))
    ax.tick_params(labelsize=SIZE)
    ax.spines[["top", "right"]].set_visible(False)
    without = "without their means" if diagnosis.centred else "means included"
    hidden = diagnosis.n_trees - len(shares)
    _note(
        ax,
        f"{diagnosis.n_trees} trees, {without}; effectively {diagnosis.n_effective:.1f}; bars: "
        "each component; line: all up to it" + (f"; {hidden} more not shown" if hidden else ""),
    )
    return ax


def plot_overlaps(diagnosis: Diagnosis, *, ordered: bool = True, ax: Any = None) -> Any:
    """Draw how much the trees of an ensemble have in common, two by two.

    A cell is the correlation of two trees. Trees that are alike stand side by side, so groups
    that repeat each other are squares along the diagonal.

    Parameters
    ----------
    diagnosis : Diagnosis
        What `obliqua.spectrum.diagnose` returned.
    ordered : bool, default=True
        Whether to put trees that are alike side by side; otherwise they stand as in the ensemble,
        which shows how boosting goes on.
    ax : matplotlib Axes, default=None
        Where to draw; without it, a figure is made.

    Returns
    -------
    matplotlib Axes
        What was drawn in. The cells have the gid ``overlaps``.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from obliqua import plot_overlaps
    >>> from obliqua.spectrum import diagnose
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, max_depth=2, random_state=0).fit(X, y)
    >>> ax = plot_overlaps(diagnose(forest))
    >>> len(ax.get_xticks())
    10
    """
    _check(diagnosis, ax)
    ax = axes_of(ax, (5.4, 5.0), PURPOSE)
    colours = require("matplotlib.colors", "plot", PURPOSE)
    order = order_of(diagnosis.correlation) if ordered else np.arange(diagnosis.n_trees)
    palette = colours.LinearSegmentedColormap.from_list("overlaps", [LOW, "#ffffff", HIGH])
    shown = diagnosis.correlation[np.ix_(order, order)]
    cells = ax.imshow(shown, cmap=palette, vmin=-1.0, vmax=1.0, interpolation="nearest")
    cells.set_gid("overlaps")
    n = diagnosis.n_trees
    if n <= NAMED:
        size = min(SIZE, 72.0 * size_of_axes(ax)[0] / n / 1.6)
        ax.set_xticks(range(n), order.tolist(), fontsize=size, rotation=90)
        ax.set_yticks(range(n), order.tolist(), fontsize=size)
    else:
        ax.set(xticks=[], yticks=[])
    ax.tick_params(length=0)
    ax.spines[:].set_color(PALE)
    ax.set_xlabel("tree" if n <= NAMED else f"{n} trees", fontsize=SIZE + 1)
    _scale(ax, palette)
    how = "trees that are alike stand side by side" if ordered else "trees as in the ensemble"
    _note(ax, f"correlations of trees; {how}; effectively {diagnosis.n_effective:.1f} of {n}")
    return ax


def plot_energy(diagnosis: Diagnosis | Energy, *, max_features: int = 20, ax: Any = None) -> Any:
    """Draw what the variance of an ensemble is due to: features alone, and together.

    The first bar divides the variance by how many features work together. The others belong to
    features: what each does alone, and, paler, what it does together with others, if that is
    known. Pale parts count several times, once for each feature.

    Parameters
    ----------
    diagnosis : Diagnosis or Energy
        What `obliqua.spectrum.diagnose` or `obliqua.spectrum.energy` returned.
    max_features : int, default=20
        How many features to show at most: those with the longest bars.
    ax : matplotlib Axes, default=None
        Where to draw; without it, a figure is made.

    Returns
    -------
    matplotlib Axes
        What was drawn in. The bars of feature 3 have the gid ``feature-3``, the first one
        ``orders``.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    ValueError
        If the diagnosis has no energies.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from obliqua import plot_energy
    >>> from obliqua.spectrum import diagnose
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> forest = RandomForestClassifier(10, max_depth=2, random_state=0).fit(X, y)
    >>> ax = plot_energy(diagnose(forest))
    >>> ax.get_yticklabels()[1].get_text()
    'petal width (cm)'
    """
    found = diagnosis if isinstance(diagnosis, Energy) else _energy_in(diagnosis, ax)
    check_ax(ax)
    check_limit("max_features", max_features, 1)
    most = max_features
    scale = 100.0 / found.variance if found.variance > 0 else 0.0
    main = scale * found.main
    whole = main if found.total is None else np.maximum(main, scale * found.total)
    used = np.flatnonzero(whole > 0)
    shown = used[np.lexsort((used, -main[used], -whole[used]))][:most]
    ax = axes_of(ax, (6.4, 1.5 + 0.24 * (len(shown) + 1.4)), PURPOSE)
    _bars(ax, found, shown, main, whole)
    font = Font()
    names = ["all", *(font.fit(found.features[f], NAME, SIZE) for f in shown.tolist())]
    ax.set_yticks([0.0, *(1.4 + np.arange(len(shown)))], names, fontsize=SIZE)
    for label, name in zip(ax.get_yticklabels(), names, strict=True):
        write(label, name)
    ax.set(ylim=(len(shown) + 1.0, -0.6), xlim=(0.0, 100.0))
    ax.set_xlabel("share of the variance, %", fontsize=SIZE + 1)
    ax.tick_params(labelsize=SIZE)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right"]].set_visible(False)
    hidden = len(used) - len(shown)
    _note(
        ax,
        "first bar: "
        + ", ".join(
            f"{_in_words(found, name)} {percent(share)}" for name, share in found.orders.items()
        )
        + "; below it, dark: a feature alone"
        + ("" if found.total is None else ", pale: with others")
        + (f"; {hidden} more features have less" if hidden else ""),
    )
    return ax


def order_of(correlation: FloatArray) -> Int64Array:
    """Put trees that are alike side by side: average linkage of 1 - correlation."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(correlation) < 3:
        return np.arange(len(correlation))
    distance = np.clip(1.0 - correlation, 0.0, None)
    np.fill_diagonal(distance, 0.0)
    joined = linkage(squareform((distance + distance.T) / 2, checks=False), "average")
    return np.asarray(leaves_list(joined), dtype=np.int64)


def _check(diagnosis: Any, ax: Any) -> None:
    check_ax(ax)
    if not isinstance(diagnosis, Diagnosis):
        raise TypeError(
            "diagnosis must be what obliqua.spectrum.diagnose returns; got an object of class "
            f"{type(diagnosis).__name__}."
        )


def _energy_in(diagnosis: Any, ax: Any) -> Energy:
    _check(diagnosis, ax)
    if diagnosis.energy is None:
        raise ValueError(
            "This diagnosis has no energies by feature. Make it with energy=True, and with "
            f"measure='uniform' or 'marginals'; this one has measure={diagnosis.measure!r}."
        )
    found: Energy = diagnosis.energy
    return found


def _in_words(found: Energy, order: str) -> str:
    return "several together" if found.pairs is None and order == "more" else IN_WORDS[order]


def _bars(ax: Any, found: Energy, shown: Int64Array, main: FloatArray, whole: FloatArray) -> None:
    left = 0.0
    for order, share in found.orders.items():
        bar = ax.barh(0.0, 100.0 * share, left=left, height=0.8, color=ORDERS[order], zorder=2)
        bar[0].set_gid("orders")
        if share > 0.06:
            ax.text(
                left + 50.0 * share,
                0.0,
                f"{100.0 * share:.0f} %",
                ha="center",
                va="center",
                fontsize=SIZE - 1.0,
                color="white" if order == "1" else INK,
                zorder=3,
            )
        left += 100.0 * share
    for place, f in enumerate(shown.tolist()):
        y = 1.4 + place
        for start, end, colour in ((0.0, main[f], BLUE), (main[f], whole[f], ORDERS["2"])):
            bar = ax.barh(y, end - start, left=start, height=0.7, color=colour, zorder=2)
            bar[0].set_gid(f"feature-{f}")


def _scale(ax: Any, palette: Any) -> None:
    """Say what the colours mean, at the right."""
    beside = ax.inset_axes((1.03, 0.0, 0.035, 1.0))
    shades = np.linspace(1.0, -1.0, 201)[:, None]
    beside.imshow(shades, cmap=palette, vmin=-1.0, vmax=1.0, aspect="auto", extent=(0, 1, -1, 1))
    beside.set_xticks([])
    beside.yaxis.tick_right()
    beside.set_yticks([-1.0, 0.0, 1.0])
    beside.tick_params(labelsize=SIZE, length=2)
    beside.spines[:].set_color(PALE)


def _note(ax: Any, text: str) -> None:
    """Write a note below the label of the lower axis."""
    note_below(ax, text.split(), Font(), "caption")
