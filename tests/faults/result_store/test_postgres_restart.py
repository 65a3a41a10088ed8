"""The database of `make up`: it starts again after a kill."""

import os
import signal

import psutil
import pytest

from tests.support.cluster.postgres import (
    SKIP_REASON,
    PostgresServer,
    find_postgres_dir,
    new_postgres,
)
from tests.support.wait.eventually import eventually

BINARIES = find_postgres_dir()
pytestmark = pytest.mark.skipif(BINARIES is None, reason=SKIP_REASON)


async def test_a_killed_database_starts_again_while_it_is_still_a_zombie() -> None:
    assert BINARIES is not None
    async with new_postgres(BINARIES) as server:
        old_pid = server.process.pid
        assert old_pid is not None
        os.kill(old_pid, signal.SIGKILL)
        await eventually(lambda: is_zombie(old_pid))
        another = PostgresServer(BINARIES, server._state_dir, server._port)
        await another.start()
        await another.wait_ready()
        new_pid = another.process.pid
        await another.process.stop()

    assert new_pid not in (None, old_pid)


async def is_zombie(pid: int) -> bool:
    return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
