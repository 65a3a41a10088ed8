"""A PostgreSQL server, if PostgreSQL is installed on the machine."""

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hack.local.postgres import NOT_READY_ERRORS, PostgresServer, find_postgres_dir
from tests.runner.ports import new_port

__all__ = ["NOT_READY_ERRORS", "SKIP_REASON", "PostgresServer", "find_postgres_dir", "new_postgres"]

SKIP_REASON = "needs PostgreSQL: apt-get install postgresql, or put initdb and postgres on the PATH"


@asynccontextmanager
async def new_postgres(postgres_dir: Path) -> AsyncIterator[PostgresServer]:
    """Run a server for the length of the block."""
    state_dir = Path(tempfile.mkdtemp(prefix="postgres-"))
    server = PostgresServer(postgres_dir, state_dir, new_port())
    try:
        await server.init_data_dir()
        await server.start()
        await server.wait_ready()
        yield server
    finally:
        await server.process.stop()
        shutil.rmtree(state_dir)
