"""The owner: the only holder of rows and of a ledger."""

from __future__ import annotations

from suffice.owner.desk import Outcome, Owner, Preview

__all__ = ["Outcome", "Owner", "Preview"]
