"""Auditing: what a release gives away, found out by attacking it."""

from __future__ import annotations

from suffice.auditing.audit import Finding, audit
from suffice.auditing.labels import recover_labels
from suffice.auditing.one_run import epsilon_lower_bound
from suffice.auditing.release_file import Examination, audit_release
from suffice.auditing.two_world import TwoWorlds, two_worlds

__all__ = [
    "Examination",
    "Finding",
    "TwoWorlds",
    "audit",
    "audit_release",
    "epsilon_lower_bound",
    "recover_labels",
    "two_worlds",
]
