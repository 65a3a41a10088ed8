"""Request hash of an invocation: equal for the same content, however it was sent."""

import hashlib
from typing import Final

import msgspec

from apiserver.invocations.commands import Invoke
from apiserver.invocations.payload_upload import Payload

HASH_VERSION: Final = "v1"


def invocation_hash(command: Invoke, payload: Payload) -> str:
    """Return the hash version and the digest of the request, without its wait time."""
    content = [
        command.content_type,
        command.headers,
        command.attributes,
        command.ttl_seconds,
        payload.body.size,
        payload.digest,
    ]
    text = msgspec.json.encode(content, order="sorted")
    return f"{HASH_VERSION}:{hashlib.sha256(text).hexdigest()}"
