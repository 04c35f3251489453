"""The estimators' docstrings: complete, made of shared text, and true where they show code."""

import inspect

import pytest

import obliqua
from estimators.registry import PUBLIC, each_public_estimator
from obliqua.estimators._docs import PARAMETERS, document
from obliqua.estimators.base import BaseTreeClassifier


@each_public_estimator
def test_every_parameter_is_described_with_its_default(Estimator):
    doc = inspect.getdoc(Estimator)
    assert "[parameters]" not in doc
    assert "[attributes]" not in doc
    assert ">>> " in doc  # tests/test_docs.py runs it
    for name, parameter in inspect.signature(Estimator).parameters.items():
        line = next(line for line in doc.splitlines() if line.startswith(f"{name} : "))
        assert line.endswith(f", default={parameter.default!r}")
    assert list(inspect.signature(Estimator).parameters) == [
        line.split(" : ")[0]
        for line in doc.split("Parameters\n-----")[1].split("Attributes\n-----")[0].splitlines()
        if " : " in line and not line.startswith(" ")
    ]


@pytest.mark.filterwarnings("ignore::obliqua.NothingLearntWarning")
@each_public_estimator
def test_every_fitted_attribute_is_described(Estimator):
    model = Estimator().fit([[0.0], [1.0]], [0, 1])
    section = inspect.getdoc(Estimator).split("Attributes\n-----")[1]
    for name in vars(model):
        if name.endswith("_"):
            assert f"\n{name} : " in section


def test_no_shared_text_is_written_twice():
    for Estimator in PUBLIC:
        for name, (_, text) in PARAMETERS.items():
            if name in inspect.signature(Estimator).parameters:
                assert inspect.getdoc(Estimator).count(text.splitlines()[0]) <= 1


def test_a_parameter_that_nobody_describes_is_an_error():
    class Made(BaseTreeClassifier):
        """Nothing.

        [parameters]
        """

        def __init__(self, mystery=1):
            self.mystery = mystery

    with pytest.raises(KeyError, match="mystery"):
        document()(Made)
    assert "mystery : int, default=1" in document(mystery=("int", "Explained."))(Made).__doc__


def test_docstrings_may_be_absent():
    class Bare:
        pass

    assert document()(Bare).__doc__ is None


def test_public_names_are_the_ones_that_are_fetched():
    assert set(obliqua.__all__) == {*obliqua._HOMES, "__version__"}
    assert dir(obliqua) == sorted(obliqua.__all__)
    assert obliqua.__version__
    with pytest.raises(AttributeError, match="has no attribute 'wood'"):
        _ = obliqua.wood
