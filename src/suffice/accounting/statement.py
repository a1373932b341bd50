"""Every statement that a ledger makes, in the words that both engines understand."""

from __future__ import annotations

from typing import Final

FORMAT: Final = "SELECT format FROM ledger WHERE id = 1"
MIGRATED: Final = "UPDATE ledger SET format = ? WHERE id = 1"
BEGIN_LEDGER: Final = "INSERT INTO ledger (id, format, length, voided) VALUES (1, 0, 0, NULL)"
BEGIN_ACCOUNT: Final = (
    "INSERT INTO account (part, total, total_delta, spent, spent_delta) VALUES (?, ?, ?, 0, 0)"
)

# takes the one lock that every act needs, and finds out whether the format is still the one we know
LOCK: Final = "UPDATE ledger SET length = length WHERE id = 1 AND format = ?"
SPEND: Final = (
    "UPDATE account SET spent = spent + ?, spent_delta = spent_delta + ? "
    "WHERE spent + ? <= total AND spent_delta + ? <= total_delta"
)
SPEND_PART: Final = SPEND + " AND part = ?"
ACCOUNTS: Final = "SELECT part, total, total_delta, spent, spent_delta FROM account ORDER BY part"
RAISE: Final = "UPDATE account SET total = ?, total_delta = ?"

BEGIN_LEARNER: Final = (
    "INSERT INTO learner (name, total, total_delta, spent, spent_delta, revoked) VALUES (?, ?, ?, 0, 0, 0)"
)
LIMIT: Final = "UPDATE learner SET total = ?, total_delta = ? WHERE name = ?"
REVOKE: Final = "UPDATE learner SET revoked = 1 WHERE name = ?"
LEARNERS: Final = "SELECT name, total, total_delta, spent, spent_delta, revoked FROM learner ORDER BY name"
LEARNER: Final = "SELECT total, total_delta, spent, spent_delta, revoked FROM learner WHERE name = ?"
SPEND_LEARNER: Final = (
    "UPDATE learner SET spent = spent + ?, spent_delta = spent_delta + ? "
    "WHERE spent + ? <= total AND spent_delta + ? <= total_delta AND name = ? AND revoked = 0"
)

HEAD: Final = "SELECT number, hash FROM entry ORDER BY number DESC LIMIT 1"
APPEND: Final = "INSERT INTO entry (number, act, key, body, previous, hash) VALUES (?, ?, ?, ?, ?, ?)"
LENGTHEN: Final = "UPDATE ledger SET length = ?, voided = COALESCE(voided, ?) WHERE id = 1"
LEDGER: Final = "SELECT length, voided FROM ledger WHERE id = 1"

_ENTRY: Final = "SELECT number, act, key, body, previous, hash FROM entry "
ENTRY: Final = _ENTRY + "WHERE act = ? AND key = ?"
ENTRIES: Final = _ENTRY + "ORDER BY number"
ACTS: Final = _ENTRY + "WHERE act = ? ORDER BY number"
LAST_ACTS: Final = _ENTRY + "WHERE act = ? ORDER BY number DESC LIMIT ?"
COUNT: Final = "SELECT COUNT(*) FROM entry WHERE act = ?"
COUNT_OF_TWO: Final = "SELECT COUNT(*) FROM entry WHERE act = ? OR act = ?"
LAST: Final = _ENTRY + "ORDER BY number DESC LIMIT 1"
NUMBERED: Final = _ENTRY + "WHERE number = ?"
LAST_OF_TWO: Final = _ENTRY + "WHERE act = ? OR act = ? ORDER BY number DESC LIMIT 1"

STORE: Final = "INSERT INTO artefact (charge, content) VALUES (?, ?) ON CONFLICT (charge) DO NOTHING"
STORED: Final = "SELECT content FROM artefact WHERE charge = ?"
ORPHANS: Final = (
    "SELECT charge FROM artefact WHERE charge NOT IN (SELECT number FROM entry WHERE act = ?) ORDER BY charge"
)
