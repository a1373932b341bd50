"""Learners: functions of public data and releases, each a scikit-learn estimator."""

from __future__ import annotations

from suffice.learners.mean_operator import MeanOperatorClassifier
from suffice.learners.tuning import tune

__all__ = ["MeanOperatorClassifier", "tune"]
