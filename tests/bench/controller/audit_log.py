"""The API server's audit log: the writes of one account, counted equally for all contenders."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import msgspec
import yaml

from hack.cluster.control_plane import ControlPlane
from hack.cluster.process import Process

WRITES = ("create", "update", "patch", "delete", "deletecollection")
EVENTS = "events"


class ObjectReference(msgspec.Struct):
    """The resource of a request."""

    resource: str = ""
    subresource: str = ""


class ResponseStatus(msgspec.Struct):
    """The status of a response."""

    code: int = 0


class AuditEvent(msgspec.Struct, rename="camel"):
    """The fields of an audit event that counting needs."""

    verb: str
    object_ref: ObjectReference = msgspec.field(default_factory=ObjectReference)
    response_status: ResponseStatus = msgspec.field(default_factory=ResponseStatus)

    @property
    def description(self) -> str:
        """Return a text such as `patch gpuunits/status`, with the code of an error."""
        parts = filter(None, (self.object_ref.resource, self.object_ref.subresource))
        refused = f" {self.response_status.code}" if self.response_status.code >= 400 else ""
        return f"{self.verb} {'/'.join(parts)}{refused}"


def audit_policy(account: str) -> dict[str, object]:
    """Return a policy that logs only the writes of `account`, one line each."""
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
            {"level": "Metadata", "users": [account], "verbs": list(WRITES)},
            {"level": "None"},
        ],
    }


def enable_audit_log(plane: ControlPlane, account: str) -> Path:
    """Configure the stopped API server of `plane` to log the writes of `account`."""
    state_dir = plane.layout.state_dir
    policy_path, log = state_dir / "audit-policy.yaml", state_dir / "audit.log"
    policy_path.write_text(yaml.safe_dump(audit_policy(account)))
    command = plane.kube_apiserver.command
    flags = (f"--audit-policy-file={policy_path}", f"--audit-log-path={log}")
    plane.kube_apiserver = Process(
        replace(command, arguments=(*command.arguments, *flags)), state_dir
    )
    return log


def count_writes(log: Path) -> Counter[str]:
    """Return the number of writes by description, without Events."""
    lines = msgspec.json.Decoder(AuditEvent).decode_lines(log.read_bytes())
    return Counter(line.description for line in lines if line.object_ref.resource != EVENTS)
