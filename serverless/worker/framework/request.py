"""The headers of a framework call."""

import json

from serverless.worker.deadlines import attempt_deadline
from shared.invocation import framework_protocol
from shared.invocation.queue_names import parse_record_key
from shared.invocation.record import InvocationRecord
from shared.time import format_ms


def request_headers(record_key: str, record: InvocationRecord) -> dict[str, str]:
    """Return the caller's headers and ours, which take precedence; all are ASCII."""
    function_name, invocation_id = parse_record_key(record_key)
    return {
        **record.request.headers,
        "Content-Type": record.request.content_type,
        framework_protocol.INVOCATION_HEADER: invocation_id,
        framework_protocol.FUNCTION_HEADER: function_name,
        framework_protocol.RUN_HEADER: str(record.run),
        framework_protocol.ATTEMPT_HEADER: str(record.attempts),
        framework_protocol.DEADLINE_HEADER: format_ms(attempt_deadline(record)),
        framework_protocol.ATTRIBUTES_HEADER: json.dumps(record.request.attributes),
    }
