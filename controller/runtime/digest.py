"""A short digest of a JSON value, to detect a change, also in another process."""

import hashlib
import json
from typing import Final

_DIGEST_LENGTH: Final = 16  # hexadecimal digits: 64 bits; not for security


def json_digest(value: object) -> str:
    """Return the digest of a JSON value; the order of keys has no effect."""
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:_DIGEST_LENGTH]
