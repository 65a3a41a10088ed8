"""Closing of PostgreSQL connections: every program can close them, even without a response."""

import asyncio
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from apiserver.clock import SystemClock as ApiClock
from apiserver.postgres.archive import PostgresArchive
from controller.runtime.clock import SystemClock
from hack.cluster.ports import HOST
from serverless.resultstore.store import OutcomeStore
from tests.support.cluster.postgres import SKIP_REASON, find_postgres_dir, new_postgres
from tests.support.faults.tcp_proxy import TCPProxy

TIMEOUT_SECONDS: Final = 60.0
BINARIES: Final = find_postgres_dir()


@pytest.mark.skipif(BINARIES is None, reason=SKIP_REASON)
async def test_connection_pools_close_while_postgresql_does_not_respond(tmp_path: Path) -> None:
    assert BINARIES is not None
    async with (
        new_postgres(BINARIES) as postgres,
        TCPProxy(HOST, port := urlsplit(postgres.dsn).port or 0).serve() as proxy,
        asyncio.TaskGroup() as group,
    ):
        dsn_file = tmp_path / "dsn"
        dsn_file.write_text(postgres.dsn.replace(f":{port}", f":{proxy.port}"))
        store = OutcomeStore(str(dsn_file), SystemClock())
        archive = PostgresArchive(str(dsn_file), ApiClock())
        tasks = [group.create_task(runnable.run()) for runnable in (store, archive)]
        await store.synced()
        assert await archive.find("uid", "it") is None
        proxy.stall()
        for task in tasks:
            task.cancel()
        _, running = await asyncio.wait(tasks, timeout=TIMEOUT_SECONDS)
        assert not running, "a task is cancelled but does not end"
        assert all(task.cancelled() for task in tasks), tasks
