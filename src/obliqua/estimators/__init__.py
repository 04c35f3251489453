"""The scikit-learn faces of the methods. No algorithm lives here."""

from obliqua.estimators.base import BaseTreeClassifier
from obliqua.estimators.cart import CartClassifier
from obliqua.estimators.oblique import ObliqueTreeClassifier

__all__ = ["BaseTreeClassifier", "CartClassifier", "ObliqueTreeClassifier"]
