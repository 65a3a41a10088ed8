"""PostgreSQL, reached when it is there."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import asyncpg

from controller.runtime.clock import Clock
from serverless.nats.cancellation import heeding_cancellation
from serverless.nats.config import secret_of
from serverless.resultstore.row import Row
from serverless.resultstore.table import LOCK, MIGRATION, PRUNE, UPSERT
from shared.config.loader import ConfigurationError

CONNECTIONS: Final = 4
ANSWER_SECONDS: Final = 30.0
LEAVE_SECONDS: Final = 3.0
AGAIN_SECONDS: Final = 2.0
# What a server that is down, starting, full or going away answers.
TROUBLE: Final = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)

log = logging.getLogger(__name__)


class NoStoreError(Exception):
    """PostgreSQL does not answer, or not as it should."""


class RefusedRowError(Exception):
    """PostgreSQL will never take this row."""


class Store:
    """The table of outcomes; `run` connects, for as long as that takes."""

    def __init__(self, dsn_file: str, clock: Clock) -> None:
        self._dsn_file = dsn_file
        self._clock = clock
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._there = asyncio.Event()
        self._trouble = "not connected yet"

    def not_ready(self) -> list[str]:
        """Why nothing can be stored."""
        return [f"PostgreSQL is not ready: {self._trouble}"] if self._trouble else []

    async def synced(self) -> None:
        """Wait until the table is there."""
        await self._there.wait()

    async def run(self) -> None:
        """Connect and make the table, then keep the connections until cancelled."""
        while True:
            dsn = secret_of(self._dsn_file, "dsnFile")
            try:
                with heeding_cancellation():  # what fails at the end comes in its place
                    await self._keep_connected(dsn)
            except TROUBLE as error:
                self._note(error)
            except ValueError as error:
                raise ConfigurationError(f"dsnFile: {error}") from error
            await self._clock.sleep(AGAIN_SECONDS)

    async def _keep_connected(self, dsn: str) -> None:
        pool = await asyncpg.create_pool(
            dsn, min_size=1, max_size=CONNECTIONS, command_timeout=ANSWER_SECONDS
        )
        try:
            await migrate(pool)
            self._pool, self._trouble = pool, ""
            self._there.set()
            log.info("store_connected")
            await asyncio.Event().wait()
        finally:
            async with asyncio.timeout(LEAVE_SECONDS):  # then the connections are cut
                await pool.close()

    async def save(self, rows: Sequence[Row]) -> None:
        """Store them all, or none; NoStoreError where that has to be tried again."""
        pool = self._pool
        if pool is None:
            raise NoStoreError(self._trouble)
        try:
            with heeding_cancellation():  # a connection that breaks then is told in its place
                await pool.executemany(UPSERT, rows)
        except asyncpg.DataError as error:
            raise RefusedRowError(str(error)) from error
        except TROUBLE as error:
            self._note(error)
            raise NoStoreError(str(error)) from error
        self._trouble = ""

    async def prune(self, before: datetime, most: int) -> int:
        """Remove outcomes that are older; how many there were."""
        pool = self._pool
        if pool is None:
            raise NoStoreError(self._trouble)
        try:
            with heeding_cancellation():
                done = await pool.execute(PRUNE, before, most)
        except TROUBLE as error:
            raise NoStoreError(str(error)) from error
        return int(done.removeprefix("DELETE "))

    def _note(self, error: Exception) -> None:
        self._trouble = str(error) or type(error).__name__
        log.warning("store_not_ready", extra={"error": self._trouble})


async def migrate(pool: "asyncpg.Pool[asyncpg.Record]") -> None:
    """Make what is missing of the table; what is there stays."""
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute(LOCK)
        await connection.execute(MIGRATION)
