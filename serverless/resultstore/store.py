"""The table of outcomes in PostgreSQL."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import asyncpg

from controller.runtime import Clock
from serverless.nats.cancellation import preserve_cancellation
from serverless.nats.config import read_secret_file
from serverless.resultstore.row import OutcomeRow
from shared.config.loader import ConfigurationError

MAX_CONNECTIONS: Final = 4
COMMAND_TIMEOUT_SECONDS: Final = 30.0
CLOSE_TIMEOUT_SECONDS: Final = 3.0
RETRY_SECONDS: Final = 2.0
# Errors of a server that is down, starting, full or stopping.
UNAVAILABLE_ERRORS: Final = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)

# Many replicas may start at once; the lock lets one of them create the table.
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
# Workers publish outcomes and may name any uid, but only under their own function's name.
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

log = logging.getLogger(__name__)


class StoreUnavailableError(Exception):
    """PostgreSQL is not reachable or cannot work now."""


class InvalidRowError(Exception):
    """PostgreSQL will never accept this row."""


class OutcomeStore:
    """The table of outcomes; `run` keeps it connected."""

    def __init__(self, dsn_file: str, clock: Clock) -> None:
        self._dsn_file = dsn_file
        self._clock = clock
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._ready = asyncio.Event()
        self._last_error = "not connected yet"

    def not_ready(self) -> list[str]:
        """Return why no outcome can be stored; empty if one can."""
        return [f"PostgreSQL is not ready: {self._last_error}"] if self._last_error else []

    async def synced(self) -> None:
        """Wait until the table exists."""
        await self._ready.wait()

    async def run(self) -> None:
        """Connect, create the table, and keep the connections until cancelled."""
        while True:
            dsn = read_secret_file(self._dsn_file, "dsnFile")
            try:
                with preserve_cancellation():  # an error of the close would replace it
                    await self._keep_connected(dsn)
            except UNAVAILABLE_ERRORS as error:
                self._note_error(error)
            except ValueError as error:
                raise ConfigurationError(f"dsnFile: {error}") from error
            await self._clock.sleep(RETRY_SECONDS)

    async def _keep_connected(self, dsn: str) -> None:
        pool = await asyncpg.create_pool(
            dsn, min_size=1, max_size=MAX_CONNECTIONS, command_timeout=COMMAND_TIMEOUT_SECONDS
        )
        try:
            await migrate(pool)
            self._pool, self._last_error = pool, ""
            self._ready.set()
            log.info("store_connected")
            await asyncio.Event().wait()
        finally:
            async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):  # then the connections are aborted
                await pool.close()

    async def save(self, rows: Sequence[OutcomeRow]) -> None:
        """Store all rows or none; raises StoreUnavailableError if a retry may help."""
        pool = self._pool
        if pool is None:
            raise StoreUnavailableError(self._last_error)
        try:
            with preserve_cancellation():  # an error of the connection would replace it
                await pool.executemany(UPSERT_SQL, rows)
        except asyncpg.DataError as error:
            raise InvalidRowError(str(error)) from error
        except UNAVAILABLE_ERRORS as error:
            self._note_error(error)
            raise StoreUnavailableError(str(error)) from error
        self._last_error = ""

    async def prune(self, before: datetime, max_rows: int) -> int:
        """Delete older outcomes, at most `max_rows`; return their number."""
        pool = self._pool
        if pool is None:
            raise StoreUnavailableError(self._last_error)
        try:
            with preserve_cancellation():
                command_tag = await pool.execute(PRUNE_SQL, before, max_rows)
        except UNAVAILABLE_ERRORS as error:
            raise StoreUnavailableError(str(error)) from error
        return int(command_tag.removeprefix("DELETE "))

    def _note_error(self, error: Exception) -> None:
        self._last_error = str(error) or type(error).__name__
        log.warning("store_not_ready", extra={"error": self._last_error})


async def migrate(pool: "asyncpg.Pool[asyncpg.Record]") -> None:
    """Create the missing tables and indexes."""
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute(LOCK_SQL)
        await connection.execute(MIGRATION_SQL)
