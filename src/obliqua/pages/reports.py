"""`report`: one page that shows a model, tries rows, says how good it is, and edits its trees."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, BoolArray
from obliqua.criteria import Criterion
from obliqua.edit import criterion_of, fingerprint
from obliqua.errors import TreeError
from obliqua.explain.importance import importances
from obliqua.export.computation import Computation
from obliqua.export.text import check_limits, export_text
from obliqua.io.files import write_bytes
from obliqua.io.values import to_json
from obliqua.pages.axis_splits import axis_splits
from obliqua.pages.given_rows import GivenRows, column_facts, embedded
from obliqua.pages.measures import class_measures, number_measures
from obliqua.pages.regions import regions
from obliqua.pages.tree_facts import Facts, tree_facts
from obliqua.plot._rows import Sample
from obliqua.tree.layout import EDITED
from obliqua.tree.tree import Tree
from obliqua.words.colours import RAMP, class_colours
from obliqua.words.phrases import on_one_line, written_counted
from obliqua.words.subject import Subject, subject_of

__all__ = ["ReportPage", "report"]

_ASSETS = Path(__file__).with_name("assets")

#: Of models with more nodes in all, only the first trees are on the page.
MOST_NODES = 3_000
#: So many nodes have histograms and axis-parallel splits: of each tree the first ones.
MOST_HISTOGRAMS = 600


class ReportPage:
    """A page about a model; what `report` returns. A notebook shows it as the page itself.

    Parameters
    ----------
    text : str
        The page as HTML.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def save(self, path: Any) -> None:
        """Write the page to a file, completely or not at all.

        Parameters
        ----------
        path : str, path-like or binary file object
            The file, by convention with the ending ``.html``.

        Raises
        ------
        ModelFileIOError
            If the file cannot be written; a file that was there before is unchanged.
        """
        write_bytes(path, self.text.encode("ascii"))

    def _repr_html_(self) -> str:
        """Show the page in a frame of its own, which can reach neither notebook nor network."""
        return (
            '<iframe sandbox="allow-scripts allow-downloads" title="Report of a tree" '
            'style="width: 100%; height: 860px; border: 1px solid #8884; border-radius: 6px" '
            f'srcdoc="{html.escape(self.text)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"ReportPage({len(self.text) / 1000:,.0f} kB; save it with .save('report.html'))"


def report(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    X_test: Any = None,
    y_test: Any = None,
    title: str | None = None,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | None = None,
    max_rows: int = 2000,
) -> ReportPage:
    """Make one page that shows a model, tries rows, says how good it is, and edits its trees.

    The page is one file that needs no network and loads nothing: it can be sent by mail and opens
    from a disk. What it computes is what `export_javascript` computes, to the last bit. Edits of a
    tree are saved by the page as a file that `apply_edits` takes.

    Parameters
    ----------
    model : estimator, Model or Tree
        A fitted estimator of obliqua, a `Model` or a `Tree`.
    X, y : array-like, default=None
        The rows that it was grown from, and their classes or numbers. Histograms, ranges and the
        best axis-parallel splits are of these rows; without any rows the page says what is
        missing.
    X_test, y_test : array-like, default=None
        Rows that it has not seen. If these are the only ones, they take the place of the others.
    title : str, default=None
        The title of the page; the name of the method if not given.
    feature_names, class_names : sequence of str, default=None
        Names of the columns and of the classes, or outputs, if the model does not know them.
    max_rows : int, default=2000
        How many rows the page may hold, to try them and to judge edits by them. They are drawn,
        the same ones each time. Fewer are taken if they would take more than 0.3 MB. 0 embeds no
        row: anyone who has the page can read the rows in it.

    Returns
    -------
    ReportPage
        The page. ``save(path)`` writes it; notebooks show it.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    TypeError
        If it is something else.
    ValueError
        If rows do not fit the model, or a parameter makes no sense.

    See Also
    --------
    apply_edits : The model that the edits of the page lead to.
    plot_tree : A picture of a tree.
    export_text : A tree as text.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obliqua import HHCartClassifier, report
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = HHCartClassifier().fit(X, y)
    >>> page = report(tree, X, y)
    >>> page.save("iris.html")  # doctest: +SKIP
    """
    check_limits(max_rows=max_rows)
    if max_rows is None or not (title is None or isinstance(title, str)):
        raise TypeError("max_rows must be a whole number, and title a text or None.")
    if X_test is not None and y_test is None:
        raise ValueError(
            "Rows in X_test say how good the model is, which needs y_test. Give it too."
        )
    maker = _Maker(model, feature_names, class_names)
    sets = [
        GivenRows.of("training", maker.first, X, y),
        GivenRows.of("test", maker.first, X_test, y_test),
    ]
    payload = maker.payload([rows for rows in sets if rows is not None], max_rows)
    payload["title"] = title or f"{_kind_of(model)}: a report"
    return ReportPage(_page(payload, maker.text))


def _kind_of(model: Any) -> str:
    """Name what a model is, for a title."""
    return type(model).__name__


@dataclass(frozen=True, eq=False)
class _Maker:
    """Gathers what a page says of a model."""

    model: Any
    feature_names: Any
    class_names: Any

    @cached_property
    def computation(self) -> Computation:
        """What the model computes."""
        return Computation.of(self.model)

    @cached_property
    def first(self) -> Subject:
        """The first tree, with the words for all of them."""
        return subject_of(self.model, self.feature_names, self.class_names, tree=0)

    @cached_property
    def n_shown(self) -> int:
        """How many trees are on the page."""
        trees, total = self.computation.model.trees, 0
        for number in range(len(trees)):
            total += trees[number].n_nodes
            if total > MOST_NODES:
                return max(1, number)
        return len(trees)

    @property
    def text(self) -> str:
        """The first tree as text, for readers without scripts."""
        names = {"feature_names": self.feature_names, "class_names": self.class_names}
        return export_text(self.model, tree=0, max_depth=12, **names)

    def payload(self, sets: list[GivenRows], max_rows: int) -> Facts:
        """Return all that the page is told."""
        found = self.computation
        Z = sets[0].Z if sets else None
        trees = [self._tree(number, sets) for number in range(self.n_shown)]
        used = _columns_used(trees, found.model.encoding.n_columns)
        rows, n_embedded = embedded(sets, used, max_rows)
        return {
            "writtenBy": f"obliqua {version('obliqua')}",
            "facts": self._facts(),
            "notes": self._notes(sets, n_embedded, max_rows),
            "task": found.model.task,
            "names": list(self.first.class_names),
            "labels": [json.dumps(to_json(label)) for label in found.model.classes.tolist()],
            "columns": column_facts(self.first.encoding.columns, used, Z),
            "takesMissing": found.model.takes_missing,
            "colours": class_colours(len(self.first.class_names)),
            "ramp": list(RAMP),
            "ends": self._ends(sets),
            "criterion": self._criterion(self.first).name.replace("_", " "),
            "finish": found.finish,
            "start": found.start,
            "nAnswers": found.n_answers,
            "nTrees": found.n_trees,
            "trees": trees,
            "labelled": bool(sets) and sets[0].learnt is not None,
            "mayLabel": found.says_numbers or found.finish in ("leaf", "vote"),
            "maySplit": not found.model.adds_up or self.first.holds_numbers,
            "fingerprint": fingerprint(found.model),
            "importances": _importances(self.model),
            "regionRows": sets[0].name if sets and sets[0].learnt is not None else "",
            "regions": [self._regions(number, sets) for number in range(self.n_shown)],
            "sets": [self._measured(rows) for rows in sets],
            "rows": rows,
        }

    def _subject(self, number: int) -> Subject:
        subject = subject_of(self.model, self.feature_names, self.class_names, tree=number)
        return replace(subject, rows=lambda Z: Z)  # they are read already

    def _tree(self, number: int, sets: list[GivenRows]) -> Facts:
        subject, part = self._subject(number), self.computation.part(number)
        n_drawn = max(15, MOST_HISTOGRAMS // self.n_shown)
        sample, axis = None, {}
        if sets:
            sample = _sample(subject, sets[0])
            inner = np.flatnonzero(~subject.tree.is_leaf[:n_drawn])
            axis = axis_splits(subject, sample, sets[0], inner, self._criterion(subject))
        nodes = tree_facts(subject, part, sample, axis, n_drawn)
        return {"number": number, "nodes": nodes}

    def _criterion(self, subject: Subject) -> Criterion:
        return criterion_of(self.model, subject.tree)

    def _regions(self, number: int, sets: list[GivenRows]) -> list[Facts]:
        rows = sets[0] if sets else None
        known = None if rows is None or rows.learnt is None else (rows.Z, rows.learnt)
        return regions(self._subject(number), known)

    def _measured(self, rows: GivenRows) -> Facts:
        """Say how good the model is on rows."""
        model = self.computation.model
        facts: Facts = {
            "name": rows.name,
            "n": len(rows.Z),
            "classes": None,
            "numbers": None,
        }
        if rows.learnt is None:
            return facts
        if self.computation.says_numbers:
            said = model.predict(rows.Z).reshape(len(rows.Z), -1)
            facts["numbers"] = number_measures(self.first.class_names, rows.learnt, said)
        else:
            shares, chosen = model.predict_proba(rows.Z), model.predict_index(rows.Z)
            facts["classes"] = class_measures(rows.learnt, shares, chosen, model.n_classes)
        return facts

    def _ends(self, sets: list[GivenRows]) -> list[float]:
        """Return the numbers that the ends of the colours stand for."""
        if not self.computation.says_numbers:
            return [0.0, 1.0]
        if sets and sets[0].learnt is not None:
            return np.quantile(sets[0].learnt[:, 0], [0.05, 0.95]).tolist()
        return [float(end[0]) for end in self.first.mean_ends]

    def _facts(self) -> list[list[str]]:
        """Say what the model is."""
        model = self.computation.model
        kind = " ".join(repr(self.model).split())
        known = ", ".join(on_one_line(name) for name in self.first.class_names[:12])
        more = ", ..." if len(self.first.class_names) > 12 else ""
        size = f"{written_counted(model._n_leaves, 'leaf')}, depth {model._depth}"
        alone = len(model.trees) == 1
        if not alone:
            size = f"{written_counted(len(model.trees), 'tree')} with {size}"
        rows = int(model.trees[0].n_samples[0])
        return [
            ["model", kind if len(kind) <= 300 else f"{kind[:300]}..."],
            ["size", size],
            ["features", f"{model.encoding.n_columns:,}"],
            ["classes" if model.n_classes else "learnt", f"{known}{more}"],
            *([["grown from", written_counted(rows, "row")]] if rows > 0 and alone else []),
        ]

    def _notes(self, sets: list[GivenRows], n_embedded: list[int], max_rows: int) -> list[str]:
        """Say what is not on the page, and why."""
        n_trees = self.computation.n_trees
        notes = [self.first.note] if self.first.note and n_trees == 1 else []
        if any(
            EDITED in self.computation.model.trees[k].origin_labels for k in range(self.n_shown)
        ):
            notes.append("This model was edited by hand after it was grown.")
        if self.n_shown < n_trees:
            notes.append(
                f"The model has {n_trees:,} trees, and the first {self.n_shown:,} are on this "
                "page. What it says of a row is what the chosen tree alone says."
            )
        if not sets:
            notes.append(
                "No rows were given: there are no histograms, no ranges, no best axis-parallel "
                "splits, and nothing that says how good the model is."
            )
        elif sets[0].learnt is None:
            notes.append(
                "Rows were given without y: nothing says how good the model is, and there are no "
                "best axis-parallel splits."
            )
        if sets and not max_rows:
            notes.append(
                "No row is embedded: rows cannot be picked, and edits are not judged. Histograms, "
                "ranges and figures are of all rows given."
            )
        elif sum(n_embedded) < sum(len(rows.Z) for rows in sets):
            drawn = " and ".join(
                f"{n:,} of {len(rows.Z):,} {rows.name} rows"
                for rows, n in zip(sets, n_embedded, strict=True)
            )
            notes.append(
                f"{drawn} are embedded, drawn by chance: to be picked, and to judge edits by. "
                "Other figures are of all rows given."
            )
        if sets and sets[0].name == "training":
            notes += self._other_rows(sets[0])
        return notes

    def _other_rows(self, rows: GivenRows) -> list[str]:
        """Say so if rows given as training rows are not those that the tree has counted."""
        tree: Tree = self.first.tree
        n_grown = int(tree.n_samples[0])
        if self.computation.n_trees > 1 or n_grown <= 0:
            return []
        counts = np.bincount(tree.apply(rows.Z), minlength=tree.n_nodes)
        if (counts == tree.n_samples)[tree.is_leaf].all():
            return []
        words = (
            f"The tree was grown from {n_grown:,} rows and has counted other ones than the "
            f"{len(rows.Z):,} given as training rows: some may have been held out to prune it, or "
            "weighted. Counts at nodes are those of the tree, histograms those of the rows given."
        )
        return [words]


def _sample(subject: Subject, rows: GivenRows) -> Sample:
    """Send rows through a tree; all classes count, also in a tree about two of them."""
    return Sample(subject, rows.Z, _labels(subject, rows), all_classes=True)


def _labels(subject: Subject, rows: GivenRows) -> AnyArray | None:
    if rows.learnt is None or subject.says_numbers:
        return rows.learnt
    return subject.classes[rows.learnt]


def _columns_used(trees: list[Facts], n_columns: int) -> BoolArray:
    """Say which columns a page asks about, or might after an edit."""
    used = np.zeros(n_columns, dtype=bool)
    for tree in trees:
        for node in tree["nodes"]:
            for plane in node["planes"]:
                used[plane["column"]] = True
            if node["line"] is not None:
                used[node["line"]["column"]] = True
            if node.get("axis") is not None:
                used[node["axis"]["plane"]["column"]] = True
    return used


def _importances(model: Any) -> list[float] | None:
    """Return the importances of features, if they are known."""
    try:
        return importances(model).tolist()
    except TreeError:
        return None


def _page(payload: Facts, text: str) -> str:
    """Put the page together: its policy lets nothing in but what is in it."""
    script, style = ((_ASSETS / name).read_text("ascii") for name in ("report.js", "report.css"))
    data = json.dumps(payload, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    title = html.escape(payload["title"])
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="{html.escape(payload["writtenBy"])}">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div id="page"></div>
<noscript><h1>{title}</h1><p>This page needs scripts to be tried and edited. Its first tree:</p>
<pre>{html.escape(text)}</pre></noscript>
<script type="application/json" id="payload">{data}</script>
<script>{script}</script>
</body>
</html>
"""
    return page.encode("ascii", "xmlcharrefreplace").decode("ascii")


def _hash(text: str) -> str:
    """Return what a content security policy knows a script or a style by."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
