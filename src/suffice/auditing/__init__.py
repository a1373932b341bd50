"""Auditing: what a release gives away, found out by attacking it."""

from __future__ import annotations

from suffice.auditing.labels import recover_labels

__all__ = ["recover_labels"]
