-- One dataset, one budget. $integer, $bytes and $strict stand for what each engine calls them.
CREATE TABLE ledger (
    id $integer PRIMARY KEY CHECK (id = 1),
    format $integer NOT NULL,
    length $integer NOT NULL,
    voided TEXT
) $strict;

-- Every act, in order, each row holding the hash of the row before it. Rows are never changed.
CREATE TABLE entry (
    number $integer PRIMARY KEY,
    act TEXT NOT NULL,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    UNIQUE (act, key)
) $strict;

-- The running totals: one row, or one row for each group of a partition.
CREATE TABLE account (
    part TEXT PRIMARY KEY,
    total $integer NOT NULL,
    total_delta $integer NOT NULL,
    spent $integer NOT NULL,
    spent_delta $integer NOT NULL,
    CHECK (spent >= 0 AND spent <= total AND spent_delta >= 0 AND spent_delta <= total_delta)
) $strict;

-- The bytes that each charge paid for, once they are made.
CREATE TABLE artefact (
    charge $integer PRIMARY KEY REFERENCES entry (number),
    content $bytes NOT NULL
) $strict;
