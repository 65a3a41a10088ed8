"""PostgreSQL, reached when it is there."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import asyncpg

from controller.runtime.clock import Clock
from serverless.nats.cancellation import preserve_cancellation
from serverless.nats.config import read_secret_file
from serverless.resultstore.row import OutcomeRow
from shared.config.loader import ConfigurationError

MAX_CONNECTIONS: Final = 4
COMMAND_TIMEOUT_SECONDS: Final = 30.0
CLOSE_TIMEOUT_SECONDS: Final = 3.0
RETRY_SECONDS: Final = 2.0
# What a server that is down, starting, full or going away answers.
UNAVAILABLE_ERRORS: Final = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)

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

log = logging.getLogger(__name__)


class StoreUnavailableError(Exception):
    """PostgreSQL does not answer, or not as it should."""


class InvalidRowError(Exception):
    """PostgreSQL will never take this row."""


class OutcomeStore:
    """The table of outcomes; `run` connects, for as long as that takes."""

    def __init__(self, dsn_file: str, clock: Clock) -> None:
        self._dsn_file = dsn_file
        self._clock = clock
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._ready = asyncio.Event()
        self._last_error = "not connected yet"

    def not_ready(self) -> list[str]:
        """Why nothing can be stored."""
        return [f"PostgreSQL is not ready: {self._last_error}"] if self._last_error else []

    async def synced(self) -> None:
        """Wait until the table is there."""
        await self._ready.wait()

    async def run(self) -> None:
        """Connect and make the table, then keep the connections until cancelled."""
        while True:
            dsn = read_secret_file(self._dsn_file, "dsnFile")
            try:
                with preserve_cancellation():  # what fails at the end comes in its place
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
            async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):  # then the connections are cut
                await pool.close()

    async def save(self, rows: Sequence[OutcomeRow]) -> None:
        """Store them all, or none; StoreUnavailableError where that has to be tried again."""
        pool = self._pool
        if pool is None:
            raise StoreUnavailableError(self._last_error)
        try:
            with preserve_cancellation():  # a connection that breaks then is told in its place
                await pool.executemany(UPSERT_SQL, rows)
        except asyncpg.DataError as error:
            raise InvalidRowError(str(error)) from error
        except UNAVAILABLE_ERRORS as error:
            self._note_error(error)
            raise StoreUnavailableError(str(error)) from error
        self._last_error = ""

    async def prune(self, before: datetime, max_rows: int) -> int:
        """Remove outcomes that are older; how many there were."""
        pool = self._pool
        if pool is None:
            raise StoreUnavailableError(self._last_error)
        try:
            with preserve_cancellation():
                done = await pool.execute(PRUNE_SQL, before, max_rows)
        except UNAVAILABLE_ERRORS as error:
            raise StoreUnavailableError(str(error)) from error
        return int(done.removeprefix("DELETE "))

    def _note_error(self, error: Exception) -> None:
        self._last_error = str(error) or type(error).__name__
        log.warning("store_not_ready", extra={"error": self._last_error})


async def migrate(pool: "asyncpg.Pool[asyncpg.Record]") -> None:
    """Make what is missing of the table; what is there stays."""
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute(LOCK_SQL)
        await connection.execute(MIGRATION_SQL)
