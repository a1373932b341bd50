"""Our estimators under the whole of scikit-learn's checks, with nothing expected to fail."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice.learners import MeanOperatorClassifier

ESTIMATORS = [
    MeanOperatorClassifier(),
    MeanOperatorClassifier(loss="square"),
    MeanOperatorClassifier(loss="matsushita"),
    MeanOperatorClassifier(loss="modified_huber"),
    MeanOperatorClassifier(alpha=1e-3, l1_ratio=0.5),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_finds_nothing_to_object_to(estimator, check):
    check(estimator)
