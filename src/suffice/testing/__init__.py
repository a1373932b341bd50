"""Public checks: what an outsider's statistic, mechanism, channel, source or loss must fulfil."""

from __future__ import annotations

from suffice.testing.channel import check_channel
from suffice.testing.law import LawBroken
from suffice.testing.loss import check_loss
from suffice.testing.mechanism import check_mechanism
from suffice.testing.source import check_source
from suffice.testing.statistic import check_statistic

__all__ = ["LawBroken", "check_channel", "check_loss", "check_mechanism", "check_source", "check_statistic"]
