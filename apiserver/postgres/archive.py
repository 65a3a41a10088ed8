"""The archive of outcomes in PostgreSQL, written by the result store and only read here."""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import asyncpg
import msgspec

from apiserver.cancellation import preserve_cancellation
from apiserver.invocations.archive import ArchivedOutcome, ArchiveError, ArchiveQuery
from shared.clock import Clock
from shared.config.loader import ConfigurationError
from shared.invocation.record import InvocationRecord, InvocationRequest, InvocationResult
from shared.invocation.state import InvocationState
from shared.time import datetime_to_ms, ms_to_datetime

MAX_CONNECTIONS: Final = 4
QUERY_TIMEOUT_SECONDS: Final = 5.0
CLOSE_TIMEOUT_SECONDS: Final = 3.0
RETRY_INTERVAL_SECONDS: Final = 2.0
DATABASE_ERRORS: Final = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)

FIND_SQL: Final = """
SELECT * FROM outcomes WHERE function_uid = $1 AND invocation_id = $2
ORDER BY run DESC LIMIT 1
"""
LIST_SQL: Final = """
SELECT * FROM outcomes
WHERE ($1 = '' OR request_id = $1) AND ($2 = '' OR state = $2)
  AND ($3::timestamptz IS NULL OR finished_at >= $3)
  AND (finished_at, function_uid, invocation_id, run) < ($4, $5, $6, $7)
ORDER BY finished_at DESC, function_uid DESC, invocation_id DESC, run DESC LIMIT $8
"""

log = logging.getLogger(__name__)


class PostgresArchive:
    """The Archive in PostgreSQL; `run` keeps it connected."""

    def __init__(self, dsn_file: str, clock: Clock) -> None:
        self._dsn_file = dsn_file
        self._clock = clock
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None

    async def run(self) -> None:
        """Keep a pool of connections until cancelled."""
        while True:
            try:
                with preserve_cancellation():  # an error of the close would replace it
                    await self._keep_connected()
            except DATABASE_ERRORS as error:
                log.warning("archive_not_ready", extra={"error": str(error)})
            await self._clock.sleep(RETRY_INTERVAL_SECONDS)

    async def _keep_connected(self) -> None:
        self._pool = pool = await asyncpg.create_pool(
            read_dsn(self._dsn_file),
            min_size=0,
            max_size=MAX_CONNECTIONS,
            command_timeout=QUERY_TIMEOUT_SECONDS,
            timeout=QUERY_TIMEOUT_SECONDS,
        )
        try:
            await asyncio.Event().wait()
        finally:
            async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):  # then the connections are cut
                await pool.close()

    async def find(self, function_uid: str, invocation_id: str) -> ArchivedOutcome | None:
        """Return the outcome of the last run of an invocation, or None; raises ArchiveError."""
        rows = await self._fetch(FIND_SQL, function_uid, invocation_id)
        return outcome_from_row(rows[0]) if rows else None

    async def list(self, query: ArchiveQuery) -> tuple[ArchivedOutcome, ...]:
        """Return outcomes by their end, newest first; raises ArchiveError."""
        before = query.before
        rows = await self._fetch(
            LIST_SQL,
            query.function_name,
            query.state,
            query.since,
            ms_to_datetime(before.finished_at),
            before.function_uid,
            before.invocation_id,
            before.run,
            query.limit,
        )
        return tuple(map(outcome_from_row, rows))

    async def _fetch(self, sql: str, *values: object) -> Sequence[asyncpg.Record]:
        if self._pool is None:
            raise ArchiveError("not connected yet")
        try:
            return await self._pool.fetch(sql, *values)
        except DATABASE_ERRORS as error:
            raise ArchiveError(str(error) or type(error).__name__) from error


def outcome_from_row(row: Any) -> ArchivedOutcome:
    """Return the outcome in a row; its record has an empty request."""
    record = InvocationRecord(
        function_uid=row["function_uid"],
        run=row["run"],
        hash="",
        accepted_at=datetime_to_ms(row["accepted_at"]),
        request=InvocationRequest(),
        state=InvocationState(row["state"]),
        attempts=row["attempts"],
        worker=row["worker"],
        started_at=datetime_to_ms(row["started_at"]) if row["started_at"] else 0,
        finished_at=datetime_to_ms(row["finished_at"]),
        result=msgspec.json.decode(row["result"], type=InvocationResult),
        published=True,
    )
    return ArchivedOutcome(row["request_id"], row["invocation_id"], record)


def read_dsn(path: str) -> str:
    """Read the address of the database; raises ConfigurationError."""
    try:
        return Path(path).read_text().strip()
    except OSError as error:
        problem = f"{path!r} cannot be read: {error.strerror}"
        raise ConfigurationError(f"resultStore.dsnFile: {problem}") from error
