"""The invocation that a handler receives."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from shared.invocation import framework_protocol


@dataclass(frozen=True, slots=True)
class Invocation:
    """One invocation; if `attempt` is above 1, an earlier attempt may have run already."""

    id: str
    function: str
    run: int
    attempt: int
    deadline: datetime
    headers: Mapping[str, str]
    attributes: Mapping[str, Any]
    content_type: str
    body: bytes

    def json(self) -> Any:
        """Return the body parsed as JSON; raises ValueError."""
        return json.loads(self.body)


def parse_invocation(headers: Mapping[str, str], content_type: str, body: bytes) -> Invocation:
    """Parse a worker's request; raises KeyError or ValueError if it is invalid."""
    return Invocation(
        id=headers[framework_protocol.INVOCATION_HEADER],
        function=headers[framework_protocol.FUNCTION_HEADER],
        run=int(headers[framework_protocol.RUN_HEADER]),
        attempt=int(headers[framework_protocol.ATTEMPT_HEADER]),
        deadline=datetime.fromisoformat(headers[framework_protocol.DEADLINE_HEADER]),
        headers=headers,
        attributes=json.loads(headers.get(framework_protocol.ATTRIBUTES_HEADER, "{}")),
        content_type=content_type,
        body=body,
    )
