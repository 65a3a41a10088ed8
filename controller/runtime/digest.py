"""A short name for a value, by which a later process knows that it is still the same."""

import hashlib
import json
from typing import Final

_DIGEST_LENGTH: Final = 16  # hexadecimal digits: 64 bits, and nobody gains by a collision


def json_digest(value: object) -> str:
    """The same text for the same JSON value, whatever the order of its keys."""
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:_DIGEST_LENGTH]
