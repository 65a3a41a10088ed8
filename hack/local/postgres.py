"""A PostgreSQL server for outcomes, of the programs that the machine has, if it has them."""

import asyncio
import os
import pwd
import secrets
import shutil
import signal
from pathlib import Path
from typing import Final

import asyncpg
import psutil

from hack.cluster.atomic_files import write_private
from hack.cluster.ports import HOST
from hack.cluster.process import POLL_SECONDS, Command, Process
from hack.cluster.readiness import until
from hack.local.command import output_of

PROCESS: Final = "postgres"
STOP: Final = signal.SIGINT  # it does not wait until its clients have gone
OWNER: Final = "owner"
READER: Final = "reader"
DEBIAN: Final = Path("/usr/lib/postgresql")
NOT_READY: Final = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError)


def programs() -> Path | None:
    """The folder of initdb and postgres, of the newest version that is there."""
    newest_first = sorted(DEBIAN.glob("*/bin"), key=lambda path: -int(path.parent.name))
    on_path = shutil.which("initdb")
    found = [*newest_first, *([Path(on_path).resolve().parent] if on_path else [])]
    return next((each for each in found if (each / "postgres").exists()), None)


def dsn_file(home: Path, user: str) -> Path:
    """Where a user finds the address of the database, with a password, once there is one."""
    return home / "secrets" / f"postgres-{user}"


class DatabaseServer:
    """One server with an owner and a reader; never root's, so root lends it another user."""

    def __init__(self, binaries: Path, home: Path, port: int) -> None:
        self._binaries = binaries
        self._home = home
        self._folder = home / "postgresql"
        self._port = port
        listening = ("-h", HOST, "-p", str(port), "-c", "unix_socket_directories=")
        # Its memory is in files of the folder, which go with it.
        memory = ("-c", "dynamic_shared_memory_type=mmap")
        data = ("-D", str(self._folder / "data"))
        arguments = (str(binaries / "postgres"), *data, *listening, *memory)
        self.process = Process(Command(PROCESS, (*lent(), *arguments)), home)

    @property
    def dsn(self) -> str:
        """Its address, with the password of its owner."""
        return self._dsn(OWNER)

    async def prepare(self) -> None:
        """Make the files of the database, unless they are there."""
        password = self._password(OWNER)
        if (self._folder / "data" / "PG_VERSION").exists():
            return
        shutil.rmtree(self._folder, ignore_errors=True)
        file = self._folder / "password"
        write_private(file, password)
        if os.getuid() == 0:
            for path in (self._folder, file):
                shutil.chown(path, lent_user().pw_uid, lent_user().pw_gid)
        await output_of(
            *(*lent(), str(self._binaries / "initdb"), "-D", str(self._folder / "data")),
            *("-U", OWNER, "--auth=scram-sha-256", f"--pwfile={file}"),
        )
        file.unlink()

    async def start(self) -> None:
        """Start it, unless it runs; one that was killed has helpers which end a little later."""
        if self.process.is_current():
            return
        await self.process.stop()
        data = self._folder / "data"
        while is_in_use(data):  # noqa: ASYNC110 - they are not our children
            await asyncio.sleep(POLL_SECONDS)
        # Whoever it names is dead, but would count as alive until its parent has noticed.
        (data / "postmaster.pid").unlink(missing_ok=True)
        self.process.start()

    async def ready(self) -> None:
        """Wait until it answers, and has its reader."""

        async def answers() -> bool:
            try:
                connection = await asyncpg.connect(self.dsn, timeout=5)
            except NOT_READY:
                return False
            try:
                await self._ensure_reader(connection)
            finally:
                await connection.close()
            return True

        await until(answers, self.process)
        for user in (OWNER, READER):
            write_private(dsn_file(self._home, user), self._dsn(user))

    async def _ensure_reader(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        known = await connection.fetchval("SELECT 1 FROM pg_roles WHERE rolname = $1", READER)
        if known is None:
            await connection.execute(
                f"CREATE ROLE {READER} LOGIN PASSWORD '{self._password(READER)}';"
                f" GRANT pg_read_all_data TO {READER}"
            )

    def _dsn(self, user: str) -> str:
        return f"postgresql://{user}:{self._password(user)}@{HOST}:{self._port}/postgres"

    def _password(self, user: str) -> str:
        path = self._home / "secrets" / f"postgres-password-{user}"
        if not path.exists():
            write_private(path, secrets.token_hex(24))
        return path.read_text()


def is_in_use(data: Path) -> bool:
    """Whether a process of PostgreSQL works on these files; each of them is at home there."""
    return any(folder_of(found) == data for found in psutil.process_iter())


def folder_of(found: psutil.Process) -> Path | None:
    try:
        return Path(found.cwd())
    except psutil.Error:
        return None


def lent_user() -> pwd.struct_passwd:
    """Somebody who is not root."""
    names = {each.pw_name for each in pwd.getpwall()}
    return pwd.getpwnam("postgres" if "postgres" in names else "nobody")


def lent() -> tuple[str, ...]:
    """What turns a command of root's into another user's, in the same process.

    It keeps the right to pass through folders that are root's alone, such as root's home.
    """
    if os.getuid() != 0:
        return ()
    found, kept = lent_user(), "+dac_override"
    who = (f"--reuid={found.pw_uid}", f"--regid={found.pw_gid}", "--clear-groups")
    return ("setpriv", *who, f"--inh-caps={kept}", f"--ambient-caps={kept}")
