"""The database of `make up` after a kill: it comes back."""

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


async def test_a_killed_database_starts_again_before_its_parent_has_noticed() -> None:
    assert BINARIES is not None
    async with new_postgres(BINARIES) as server:
        killed = server.process.pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        await eventually(lambda: is_unnoticed(killed))
        another = PostgresServer(BINARIES, server._state_dir, server._port)
        await another.start()
        await another.wait_ready()
        found = another.process.pid
        await another.process.stop()

    assert found not in (None, killed)


async def is_unnoticed(pid: int) -> bool:
    return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
