"""Tests of the scikit-learn faces; `registry` names the estimators that all of them get."""
