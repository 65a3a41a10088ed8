"""The API server's audit log: what one account wrote, counted the same way for everybody."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import msgspec
import yaml

from hack.cluster.control_plane import ControlPlane
from hack.cluster.process import Process

WRITES = ("create", "update", "patch", "delete", "deletecollection")
EVENTS = "events"


class Target(msgspec.Struct):
    """What a request was about."""

    resource: str = ""
    subresource: str = ""


class Outcome(msgspec.Struct):
    """How a request ended."""

    code: int = 0


class Line(msgspec.Struct, rename="camel"):
    """As much of an audit event as counting needs."""

    verb: str
    object_ref: Target = msgspec.field(default_factory=Target)
    response_status: Outcome = msgspec.field(default_factory=Outcome)

    @property
    def what(self) -> str:
        """Such as `patch gpuunits/status`, and the code of a refusal."""
        parts = filter(None, (self.object_ref.resource, self.object_ref.subresource))
        refused = f" {self.response_status.code}" if self.response_status.code >= 400 else ""
        return f"{self.verb} {'/'.join(parts)}{refused}"


def policy(account: str) -> dict[str, object]:
    """Only the writes of `account`, one line each."""
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
            {"level": "Metadata", "users": [account], "verbs": list(WRITES)},
            {"level": "None"},
        ],
    }


def with_audit(plane: ControlPlane, account: str) -> Path:
    """Let the server of `plane`, which does not run yet, write down what `account` writes."""
    home = plane.layout.home
    policy_path, log = home / "audit-policy.yaml", home / "audit.log"
    policy_path.write_text(yaml.safe_dump(policy(account)))
    command = plane.kube_apiserver.command
    flags = (f"--audit-policy-file={policy_path}", f"--audit-log-path={log}")
    plane.kube_apiserver = Process(replace(command, arguments=(*command.arguments, *flags)), home)
    return log


def counted(log: Path) -> Counter[str]:
    """How often each thing was written, Events left out."""
    lines = msgspec.json.Decoder(Line).decode_lines(log.read_bytes())
    return Counter(line.what for line in lines if line.object_ref.resource != EVENTS)
