"""A PostgreSQL server for outcomes, if PostgreSQL is installed."""

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

from hack.cluster.atomic_files import write_private_atomic
from hack.cluster.ports import HOST
from hack.cluster.process import POLL_SECONDS, Command, Process
from hack.cluster.readiness import wait_until
from hack.local.command import run_command

PROCESS_NAME: Final = "postgres"
STOP_SIGNAL: Final = signal.SIGINT  # the signal of a fast shutdown, which does not wait for clients
OWNER: Final = "owner"
READER: Final = "reader"
DEBIAN_POSTGRES_DIR: Final = Path("/usr/lib/postgresql")
NOT_READY_ERRORS: Final = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError)


def find_postgres_dir() -> Path | None:
    """Return the folder of initdb and postgres in their newest version, or None without one."""
    newest_first = sorted(
        DEBIAN_POSTGRES_DIR.glob("*/bin"), key=lambda path: -int(path.parent.name)
    )
    on_path = shutil.which("initdb")
    folders = [*newest_first, *([Path(on_path).resolve().parent] if on_path else [])]
    return next((folder for folder in folders if (folder / "postgres").exists()), None)


def dsn_file(state_dir: Path, user: str) -> Path:
    """Return the file with the database's address and password for a user."""
    return state_dir / "secrets" / f"postgres-{user}"


class PostgresServer:
    """A server with an owner and a reader; root runs it as another user."""

    def __init__(self, binaries: Path, state_dir: Path, port: int) -> None:
        self._binaries = binaries
        self._state_dir = state_dir
        self._postgres_dir = state_dir / "postgresql"
        self._port = port
        address = ("-h", HOST, "-p", str(port), "-c", "unix_socket_directories=")
        # Shared memory is in files of the folder, which are removed with it.
        memory = ("-c", "dynamic_shared_memory_type=mmap")
        data = ("-D", str(self._postgres_dir / "data"))
        arguments = (str(binaries / "postgres"), *data, *address, *memory)
        self.process = Process(Command(PROCESS_NAME, (*setpriv_prefix(), *arguments)), state_dir)

    @property
    def dsn(self) -> str:
        """Return the address with the password of the owner."""
        return self._dsn(OWNER)

    async def init_data_dir(self) -> None:
        """Create the files of the database, unless they exist."""
        password = self._password(OWNER)
        if (self._postgres_dir / "data" / "PG_VERSION").exists():
            return
        shutil.rmtree(self._postgres_dir, ignore_errors=True)
        file = self._postgres_dir / "password"
        write_private_atomic(file, password)
        if os.getuid() == 0:
            for path in (self._postgres_dir, file):
                shutil.chown(path, unprivileged_user().pw_uid, unprivileged_user().pw_gid)
        await run_command(
            *(
                *setpriv_prefix(),
                str(self._binaries / "initdb"),
                "-D",
                str(self._postgres_dir / "data"),
            ),
            *("-U", OWNER, "--auth=scram-sha-256", f"--pwfile={file}"),
        )
        file.unlink()

    async def start(self) -> None:
        """Start the server unless it runs; helper processes of a killed server must end first."""
        if self.process.is_up_to_date():
            return
        await self.process.stop()
        data = self._postgres_dir / "data"
        while is_data_dir_in_use(data):  # noqa: ASYNC110 - they are not our children
            await asyncio.sleep(POLL_SECONDS)
        # The process in the pid file is dead, but counts as alive until its parent reaps it.
        (data / "postmaster.pid").unlink(missing_ok=True)
        self.process.start()

    async def wait_ready(self) -> None:
        """Wait until the server accepts connections, and create the reader."""

        async def accepts_connections() -> bool:
            try:
                connection = await asyncpg.connect(self.dsn, timeout=5)
            except NOT_READY_ERRORS:
                return False
            try:
                await self._ensure_reader(connection)
            finally:
                await connection.close()
            return True

        await wait_until(accepts_connections, self.process)
        for user in (OWNER, READER):
            write_private_atomic(dsn_file(self._state_dir, user), self._dsn(user))

    async def _ensure_reader(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        exists = await connection.fetchval("SELECT 1 FROM pg_roles WHERE rolname = $1", READER)
        if exists is None:
            await connection.execute(
                f"CREATE ROLE {READER} LOGIN PASSWORD '{self._password(READER)}';"
                f" GRANT pg_read_all_data TO {READER}"
            )

    def _dsn(self, user: str) -> str:
        return f"postgresql://{user}:{self._password(user)}@{HOST}:{self._port}/postgres"

    def _password(self, user: str) -> str:
        path = self._state_dir / "secrets" / f"postgres-password-{user}"
        if not path.exists():
            write_private_atomic(path, secrets.token_hex(24))
        return path.read_text()


def is_data_dir_in_use(data_dir: Path) -> bool:
    """Return whether the working directory of a PostgreSQL process is the folder of these files."""
    return any(working_directory(process) == data_dir for process in psutil.process_iter())


def working_directory(process: psutil.Process) -> Path | None:
    try:
        return Path(process.cwd())
    except psutil.Error:
        return None


def unprivileged_user() -> pwd.struct_passwd:
    """Return the user `postgres`, or `nobody`."""
    names = {user.pw_name for user in pwd.getpwall()}
    return pwd.getpwnam("postgres" if "postgres" in names else "nobody")


def setpriv_prefix() -> tuple[str, ...]:
    """Return the command prefix that runs a command of root as another user; otherwise empty.

    The process keeps the right to traverse folders that only root may read, such as root's home.
    """
    if os.getuid() != 0:
        return ()
    user, capability = unprivileged_user(), "+dac_override"
    identity = (f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups")
    return ("setpriv", *identity, f"--inh-caps={capability}", f"--ambient-caps={capability}")
