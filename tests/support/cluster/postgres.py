"""A real PostgreSQL of the machine, if there is one."""

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hack.local.postgres import NOT_READY, DatabaseServer, programs
from tests.runner.ports import new_port

__all__ = ["MISSING", "NOT_READY", "DatabaseServer", "new_postgres", "programs"]

MISSING = "needs PostgreSQL: apt-get install postgresql, or put initdb and postgres on the PATH"


@asynccontextmanager
async def new_postgres(binaries: Path) -> AsyncIterator[DatabaseServer]:
    """A server for the length of the block."""
    home = Path(tempfile.mkdtemp(prefix="postgres-"))
    server = DatabaseServer(binaries, home, new_port())
    try:
        await server.prepare()
        await server.start()
        await server.ready()
        yield server
    finally:
        await server.process.stop()
        shutil.rmtree(home)
