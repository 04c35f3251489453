"""check_proposer passes sound proposers and says precisely what is wrong with others."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

from obliqua import Directions, ProposerError
from obliqua.methods.means import class_means
from obliqua.testing import Report, check_proposer


def diagonal(node):
    return np.ones((1, node.n_features))


def random_directions(node):
    return node.rng.normal(size=(3, node.n_features))


def labelled(node):
    return Directions(np.eye(node.n_features)[:1], labels=["the first feature"])


def with_thresholds(node):
    return Directions(np.ones((2, node.n_features)), thresholds=[0.0, 1.0])


def sparse(node):
    return sp.csr_array(np.ones((1, node.n_features)))


def one_normal(node):
    return [1.0] * node.n_features


class Stretched:
    """An object with a setting."""

    def __init__(self, factor=2.0):
        self.factor = factor

    def propose(self, node):
        return self.factor * np.ones((1, node.n_features))


SOUND = [
    class_means,
    diagonal,
    random_directions,
    labelled,
    with_thresholds,
    sparse,
    one_normal,
    Stretched(),
]


@pytest.mark.parametrize("proposer", SOUND)
def test_sound_proposers_pass(proposer):
    report = check_proposer(proposer)
    assert isinstance(report, Report)
    assert report.ok
    assert report.problems == ()
    assert report.n_nodes > 20
    assert report.n_directions >= report.n_nodes // 2
    assert "nodes" in str(report)


@pytest.mark.parametrize("n_features", [1, 2, 7])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_shape_of_the_toy_data_can_be_chosen(n_features, n_classes):
    shapes = set()

    def look(node):
        shapes.add((node.n_features, node.n_classes))
        return diagonal(node)

    check_proposer(look, n_features=n_features, n_classes=n_classes)
    assert {shape[0] for shape in shapes} == {n_features}
    assert (n_features, n_classes) in shapes


@pytest.mark.parametrize("options", [{"n_features": 0}, {"n_classes": 1}])
def test_impossible_toy_data_are_refused(options):
    with pytest.raises(ValueError, match="at least one feature and two classes"):
        check_proposer(diagonal, **options)


def test_oblique_splits_are_won():
    assert check_proposer(class_means).n_wins > 0
    assert check_proposer(labelled).n_wins == 0


# --- what is wrong --------------------------------------------------------------------------


def problems_of(proposer, **options):
    with pytest.raises(ProposerError) as caught:
        check_proposer(proposer, **options)
    report = caught.value.report
    assert not report.ok
    assert str(report) in str(caught.value)
    return "\n".join(report.problems)


class Counter:
    """Gives another direction at each call."""

    def __init__(self):
        self.calls = 0

    def propose(self, node):
        self.calls += 1
        return np.roll(np.arange(node.n_features), self.calls)


class KeepsNodes:
    def __init__(self):
        self.nodes = []

    def propose(self, node):
        self.nodes.append(node)
        return diagonal(node)


class KeepsRows(KeepsNodes):
    def propose(self, node):
        self.nodes.append(node.X[:1])
        return diagonal(node)


def writes(node):
    node.X[:] -= node.X.mean(axis=0)
    return diagonal(node)


def writes_by_force(node):
    X = node.X
    X.flags.writeable = True
    X[0] += 1.0
    return diagonal(node)


def own_seed(node):
    return np.random.default_rng().normal(size=(1, node.n_features))


def fails_on_few_rows(node):
    if node.n_samples < 4:
        raise ZeroDivisionError("nothing to divide by")
    return diagonal(node)


@pytest.mark.parametrize(
    ("proposer", "text"),
    [
        (lambda node: np.ones((2, 3)), r"normals of shape \(2, 3\) for 4 features"),
        (lambda node: np.ones(5), r"normals of shape \(5,\) for 4 features.*\(4,\) for a single"),
        (lambda node: np.ones((1, 4, 1)), r"normals of shape \(1, 4, 1\) for 4 features"),
        (lambda node: node.X.mean(), r"normals of shape \(\) for 4 features"),
        (lambda node: sp.csr_array(np.ones((1, 3))), r"normals of shape \(1, 3\) for 4"),
        (lambda node: "north", "returns str, which cannot be read as numbers"),
        (lambda node: {"normal": 1}, "returns dict, which cannot be read as numbers"),
        (lambda node: None, "no usable direction at any node"),
        (lambda node: np.empty((0, 4)), "no usable direction at any node"),
        (lambda node: np.zeros((1, 4)), "no usable direction at any node"),
        (lambda node: np.full((1, 4), np.nan), "no usable direction at any node"),
        (lambda node: Directions(np.ones((2, 4)), thresholds=[0.0]), "thresholds"),
        (lambda node: Directions(np.ones((2, 4)), labels=["a"]), "labels"),
        (lambda node: np.ones((1, 4)) + 0j, "real numbers; got complex ones"),
        (lambda node: Directions([1j, 1, 1, 1]), "real numbers; got complex ones"),
        (lambda node: sp.csr_array(np.ones((1, 4)) + 0j), "real numbers; got complex ones"),
        (own_seed, "other directions when called again.*node.rng"),
        (Counter(), "other directions when called again"),
        (writes, "writes to an array of the node"),
        (KeepsNodes(), "keeps a node after the call"),
        (KeepsRows(), "keeps an array of a node after the call"),
        (fails_on_few_rows, "raises ZeroDivisionError: nothing to divide by"),
        (lambda: None, "raises TypeError"),
        (lambda node: node.x, "raises AttributeError"),
    ],
)
def test_what_is_wrong_is_said(proposer, text):
    assert re.search(text, problems_of(proposer))


def test_the_place_and_the_number_of_times_are_said():
    text = problems_of(fails_on_few_rows)
    assert "rows at depth" in text
    assert "times in all" in text


def test_the_proposers_own_error_is_the_cause():
    with pytest.raises(ProposerError) as caught:
        check_proposer(fails_on_few_rows)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_several_problems_are_said_at_once():
    def hopeless(node):
        if node.depth == 0:
            return "north"
        return own_seed(node)

    text = problems_of(hopeless)
    assert "returns str" in text
    assert "other directions" in text


def test_the_message_names_the_proposer():
    with pytest.raises(ProposerError, match="fails_on_few_rows is not a sound proposer"):
        check_proposer(fails_on_few_rows)
    with pytest.raises(ProposerError, match="Counter is not a sound proposer"):
        check_proposer(Counter())


def test_writing_by_force_is_seen_or_impossible():
    text = problems_of(writes_by_force)
    assert "changes node.X" in text or "raises ValueError" in text


@pytest.mark.parametrize("thing", [3, "fisher", None, object()])
def test_what_is_no_proposer_is_refused(thing):
    with pytest.raises(ProposerError, match="a function of a node or an object with a method"):
        check_proposer(thing)


def test_a_class_is_no_proposer():
    with pytest.raises(ProposerError, match=r"give an object of it, Stretched\(\)"):
        check_proposer(Stretched)


# --- the order of the rows ------------------------------------------------------------------


def first_to_last(node):
    return node.X[0] - node.X[-1]


def heaviest_row(node):
    return node.X[np.argmax(node.sample_weight)]


def threshold_of_a_row(node):
    return Directions(np.ones((1, node.n_features)), thresholds=node.X[:1].sum(axis=1))


def random_rows(node):
    one, other = node.rng.choice(node.n_samples, 2, replace=False)
    return node.X[one] - node.X[other]


def principal_axes(node):
    """Eigenvectors, which are arbitrary where eigenvalues are equal."""
    return np.linalg.eigh(np.cov(node.X, rowvar=False))[1].T


def classes_as_they_come(node):
    """Directions in the order in which the classes are met, with signs to match."""
    _, first = np.unique(node.y, return_index=True)
    means = [node.X[node.y == c].mean(axis=0) for c in node.y[np.sort(first)]]
    return np.diff(means[:2], axis=0) if len(means) == 2 else np.array(means)


def far_away(node):
    return 1e300 * class_means(node)


@pytest.mark.parametrize("proposer", [first_to_last, heaviest_row, threshold_of_a_row])
def test_directions_that_depend_on_the_order_of_rows_are_a_problem(proposer):
    text = problems_of(proposer)
    assert "rows of a node come in another order; use sums and means" in text
    assert "rows at depth" in text


@pytest.mark.parametrize("proposer", [principal_axes, classes_as_they_come, far_away])
@pytest.mark.parametrize("seed", [0, 1])
def test_order_sign_length_and_rounding_of_directions_do_not_matter(proposer, seed):
    assert check_proposer(proposer, random_state=seed).ok


def test_rows_picked_at_random_are_remarked():
    report = check_proposer(random_rows)
    assert report.ok
    assert "the tree depends on the order of the data" in "\n".join(report.remarks)
    assert "another order" not in str(check_proposer(random_directions))


def test_a_proposer_without_any_order_is_not_asked_for_it():
    assert "another order" not in problems_of(own_seed)


# --- what is only remarked ------------------------------------------------------------------


def test_nan_and_zero_directions_are_remarked():
    def careless(node):
        spread = node.X.std(axis=0)
        with np.errstate(all="ignore"):
            divided = 1.0 / spread / (spread > 0)
        return np.vstack([divided, np.zeros(node.n_features), np.ones(node.n_features)])

    report = check_proposer(careless)
    assert report.ok
    text = "\n".join(report.remarks)
    assert "NaN or infinity" in text
    assert "all zero" in text
    assert "constant columns" in text
    assert str(report).count("remark: ") == 2


def test_infinite_thresholds_are_remarked():
    report = check_proposer(
        lambda node: Directions(np.ones((2, node.n_features)), thresholds=[0.0, np.inf])
    )
    assert "thresholds that are NaN or infinite" in report.remarks[0]


def test_directions_that_never_win_are_remarked():
    assert "(0 wins)" in check_proposer(labelled).remarks[-1]
    assert "(0 wins)" not in str(check_proposer(class_means))
    assert "(0 wins)" not in str(check_proposer(diagonal, n_features=1))
