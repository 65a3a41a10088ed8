"""The table of outcomes, which the result store writes and we only read."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import asyncpg
import msgspec

from apiserver.cancellation import heeding_cancellation
from apiserver.clock import Clock
from apiserver.invocations.archive import Archived, ArchiveError, ArchiveQuery
from shared.config.loader import ConfigurationError
from shared.invocation.record import Record, Request, Result
from shared.invocation.state import State

CONNECTIONS: Final = 4
ANSWER_SECONDS: Final = 5.0
LEAVE_SECONDS: Final = 3.0
AGAIN_SECONDS: Final = 2.0
TROUBLE: Final = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)

FIND: Final = """
SELECT * FROM outcomes WHERE function_uid = $1 AND invocation_id = $2
ORDER BY run DESC LIMIT 1
"""
LIST: Final = """
SELECT * FROM outcomes
WHERE ($1 = '' OR request_id = $1) AND ($2 = '' OR state = $2)
  AND ($3::timestamptz IS NULL OR finished_at >= $3)
  AND (finished_at, function_uid, invocation_id, run) < ($4, $5, $6, $7)
ORDER BY finished_at DESC, function_uid DESC, invocation_id DESC, run DESC LIMIT $8
"""

log = logging.getLogger(__name__)


class PostgresArchive:
    """Implements the port Archive; `run` connects, for as long as that takes."""

    def __init__(self, dsn_file: str, clock: Clock) -> None:
        self._dsn_file = dsn_file
        self._clock = clock
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None

    async def run(self) -> None:
        """Connect, then keep the connections until cancelled."""
        while True:
            try:
                with heeding_cancellation():  # what fails at the end comes in its place
                    await self._keep_connected()
            except TROUBLE as error:
                log.warning("archive_not_ready", extra={"error": str(error)})
            await self._clock.sleep(AGAIN_SECONDS)

    async def _keep_connected(self) -> None:
        self._pool = pool = await asyncpg.create_pool(
            dsn(self._dsn_file),
            min_size=0,
            max_size=CONNECTIONS,
            command_timeout=ANSWER_SECONDS,
            timeout=ANSWER_SECONDS,
        )
        try:
            await asyncio.Event().wait()
        finally:
            async with asyncio.timeout(LEAVE_SECONDS):  # then the connections are cut
                await pool.close()

    async def find(self, function_uid: str, invocation_id: str) -> Archived | None:
        """The outcome of the last run of an invocation."""
        found = await self._fetch(FIND, function_uid, invocation_id)
        return archived(found[0]) if found else None

    async def list(self, query: ArchiveQuery) -> tuple[Archived, ...]:
        """Outcomes by their end, newest first."""
        below = query.below
        found = await self._fetch(
            LIST,
            query.request_id,
            query.state,
            query.since,
            moment(below.finished_at),
            below.function_uid,
            below.invocation_id,
            below.run,
            query.limit,
        )
        return tuple(map(archived, found))

    async def _fetch(self, sql: str, *values: object) -> Sequence[asyncpg.Record]:
        if self._pool is None:
            raise ArchiveError("not connected yet")
        try:
            return await self._pool.fetch(sql, *values)
        except TROUBLE as error:
            raise ArchiveError(str(error) or type(error).__name__) from error


def archived(row: Any) -> Archived:
    """The record that a row tells of; what was asked for is not in it."""
    record = Record(
        function_uid=row["function_uid"],
        run=row["run"],
        hash="",
        accepted_at=milliseconds(row["accepted_at"]),
        request=Request(),
        state=State(row["state"]),
        attempts=row["attempts"],
        worker=row["worker"],
        started_at=milliseconds(row["started_at"]) if row["started_at"] else 0,
        finished_at=milliseconds(row["finished_at"]),
        result=msgspec.json.decode(row["result"], type=Result),
        published=True,
    )
    return Archived(row["request_id"], row["invocation_id"], record)


def milliseconds(when: datetime) -> int:
    return round(when.timestamp() * 1000)


def moment(when: int) -> datetime:
    return datetime.fromtimestamp(when / 1000, UTC)


def dsn(path: str) -> str:
    """The address of the database; ConfigurationError where the file cannot be read."""
    try:
        return Path(path).read_text().strip()
    except OSError as error:
        problem = f"{path!r} cannot be read: {error.strerror}"
        raise ConfigurationError(f"resultStore.dsnFile: {problem}") from error
