"""The table of outcomes: how it is made, written, and kept from growing for ever."""

from typing import Final

# Any number of replicas start at once; the lock lets one of them make the table.
LOCK_SQL: Final = "SELECT pg_advisory_xact_lock(7274496401)"
MIGRATION_SQL: Final = """
CREATE TABLE IF NOT EXISTS outcomes (
    function_uid text NOT NULL,
    request_id text NOT NULL,
    invocation_id text NOT NULL,
    run integer NOT NULL,
    state text NOT NULL,
    attempts integer NOT NULL,
    worker text NOT NULL,
    accepted_at timestamptz NOT NULL,
    started_at timestamptz,
    finished_at timestamptz NOT NULL,
    result jsonb NOT NULL,
    PRIMARY KEY (function_uid, invocation_id, run)
);
CREATE INDEX IF NOT EXISTS outcomes_by_request ON outcomes (request_id, finished_at DESC);
CREATE INDEX IF NOT EXISTS outcomes_by_age ON outcomes (finished_at);
"""
# Workers tell outcomes, and may name any uid; they cannot tell them in another function's name.
UPSERT_SQL: Final = """
INSERT INTO outcomes VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::jsonb)
ON CONFLICT (function_uid, invocation_id, run) DO UPDATE SET
    state = excluded.state, attempts = excluded.attempts, worker = excluded.worker,
    accepted_at = excluded.accepted_at, started_at = excluded.started_at,
    finished_at = excluded.finished_at, result = excluded.result
WHERE outcomes.request_id = excluded.request_id
"""
PRUNE_SQL: Final = """
DELETE FROM outcomes WHERE ctid IN (
    SELECT ctid FROM outcomes WHERE finished_at < $1 ORDER BY finished_at LIMIT $2
)
"""
