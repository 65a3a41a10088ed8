"""Requests of invocations, by their outcome."""

from typing import Any, Final

SCENARIOS: Final[dict[str, dict[str, Any]]] = {
    "succeeds": {},
    "is retried": {"attributes": {"failAttempts": 1}},
    "is dead-lettered": {"attributes": {"failAttempts": 9}, "max_attempts": 1},
    "expires": {"ttl_seconds": -60},
    "has a large result": {"attributes": {"answerBytes": 300_000}},
}
