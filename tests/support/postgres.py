"""A real PostgreSQL of the machine, if there is one."""

import os
import pwd
import random
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg

from hack.cluster.ports import HOST, free_port
from hack.cluster.process import Command, Process
from tests.support.eventually import eventually

PLACES = Path("/usr/lib/postgresql")
MISSING = "needs PostgreSQL: apt-get install postgresql, or put initdb and postgres on the PATH"
NOT_READY = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError)


def programs() -> Path | None:
    """The folder of initdb and postgres, of the newest version that is there."""
    folders = sorted(PLACES.glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    on_path = shutil.which("initdb")
    found = [*folders, *([Path(on_path).parent] if on_path else [])]
    return next((each for each in found if (each / "postgres").exists()), None)


class PostgresServer:
    """One server with one database; it does not run as root, so root gives it another user."""

    def __init__(self, binaries: Path, home: Path, port: int) -> None:
        self.dsn = f"postgresql://tester@{HOST}:{port}/postgres"
        self._home = home
        self._binaries = binaries
        data = str(home / "data")
        settings = ("-c", f"unix_socket_directories={home}", "-c", "fsync=off")
        arguments = (str(binaries / "postgres"), "-D", data, "-h", HOST, "-p", str(port), *settings)
        self.process = Process(Command("postgres", (*unprivileged(), *arguments)), home)

    def initialise(self) -> None:
        """Make the files of the database."""
        if os.getuid() == 0:
            shutil.chown(self._home, user=other_user())
        initdb = (str(self._binaries / "initdb"), "-D", str(self._home / "data"), "-U", "tester")
        subprocess.run(
            (*unprivileged(), *initdb, "--auth=trust", "--no-sync"), check=True, capture_output=True
        )

    async def ready(self) -> None:
        """Wait until it answers."""

        async def answers() -> bool:
            connection = await asyncpg.connect(self.dsn, timeout=5)
            await connection.close()
            return True

        await eventually(answers, tolerate=NOT_READY)


def other_user() -> str:
    """Somebody who is not root."""
    names = {each.pw_name for each in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def unprivileged() -> tuple[str, ...]:
    """What turns a command of root's into another user's, in the same process."""
    if os.getuid() != 0:
        return ()
    found = pwd.getpwnam(other_user())
    return ("setpriv", f"--reuid={found.pw_uid}", f"--regid={found.pw_gid}", "--clear-groups")


@asynccontextmanager
async def new_postgres(binaries: Path) -> AsyncIterator[PostgresServer]:
    """A server for the length of the block."""
    home = Path(tempfile.mkdtemp(prefix=f"gpu-runtime-tests-{os.getpid()}-"))
    server = PostgresServer(binaries, home, free_port(random.Random()))
    server.initialise()
    server.process.start()
    try:
        await server.ready()
        yield server
    finally:
        await server.process.stop()
        shutil.rmtree(home)
