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
LAST_OF_TWO: Final = _ENTRY + "WHERE act = ? OR act = ? ORDER BY number DESC LIMIT 1"

STORE: Final = "INSERT INTO artefact (charge, content) VALUES (?, ?) ON CONFLICT (charge) DO NOTHING"
STORED: Final = "SELECT content FROM artefact WHERE charge = ?"
ORPHANS: Final = (
    "SELECT charge FROM artefact WHERE charge NOT IN (SELECT number FROM entry WHERE act = ?) ORDER BY charge"
)
