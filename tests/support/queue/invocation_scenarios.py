"""What may become of an invocation, by what its request says."""

from typing import Any, Final

SCENARIOS: Final[dict[str, dict[str, Any]]] = {
    "it answers": {},
    "it is tried again": {"attributes": {"failAttempts": 1}},
    "it is given up": {"attributes": {"failAttempts": 9}, "max_attempts": 1},
    "it expires": {"ttl_seconds": -60},
    "it answers at length": {"attributes": {"answerBytes": 300_000}},
}
