"""The HTTP request with which the framework is called."""

import json
from datetime import UTC, datetime

from serverless.worker.deadlines import attempt_deadline
from shared.invocation import framework_protocol
from shared.invocation.queue_names import parse_record_key
from shared.invocation.record import InvocationRecord


def request_headers(record_key: str, record: InvocationRecord) -> dict[str, str]:
    """The caller's headers and ours, which win; everything is ASCII."""
    request_id, invocation_id = parse_record_key(record_key)
    return {
        **record.request.headers,
        "Content-Type": record.request.content_type,
        framework_protocol.INVOCATION_HEADER: invocation_id,
        framework_protocol.FUNCTION_HEADER: request_id,
        framework_protocol.RUN_HEADER: str(record.run),
        framework_protocol.ATTEMPT_HEADER: str(record.attempts),
        framework_protocol.DEADLINE_HEADER: format_timestamp(attempt_deadline(record)),
        framework_protocol.ATTRIBUTES_HEADER: json.dumps(record.request.attributes),
    }


def format_timestamp(milliseconds: int) -> str:
    """A time as RFC 3339 writes it."""
    at = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
