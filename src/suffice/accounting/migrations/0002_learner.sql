-- Learners whom the owner named, each with a limit below the budget of all.
CREATE TABLE learner (
    name TEXT PRIMARY KEY,
    total $integer NOT NULL,
    total_delta $integer NOT NULL,
    spent $integer NOT NULL,
    spent_delta $integer NOT NULL,
    revoked $integer NOT NULL CHECK (revoked IN (0, 1)),
    CHECK (spent >= 0 AND spent <= total AND spent_delta >= 0 AND spent_delta <= total_delta)
) $strict;
