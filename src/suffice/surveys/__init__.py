"""Surveys in which everybody protects their own answer: forms, collection, and estimates with errors."""

from __future__ import annotations

from suffice.surveys.answers import Answers
from suffice.surveys.compliance import Compliance, compliance
from suffice.surveys.design import DIRECT, NAMES, design
from suffice.surveys.estimate import Estimate, Estimates, estimate
from suffice.surveys.fit import Comparison, Fit, compare, fit
from suffice.surveys.form import CHANNELS, Question, Survey, load
from suffice.surveys.item_count import ListCount, list_count
from suffice.surveys.joint import Joint, joint
from suffice.surveys.opening import opened
from suffice.surveys.paper import read
from suffice.surveys.power import Size, power
from suffice.surveys.regression import Regression, regress

__all__ = [
    "CHANNELS",
    "DIRECT",
    "NAMES",
    "Answers",
    "Comparison",
    "Compliance",
    "Estimate",
    "Estimates",
    "Fit",
    "Joint",
    "ListCount",
    "Question",
    "Regression",
    "Size",
    "Survey",
    "compare",
    "compliance",
    "design",
    "estimate",
    "fit",
    "joint",
    "list_count",
    "load",
    "opened",
    "power",
    "read",
    "regress",
]
