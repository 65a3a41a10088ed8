"""How long the working process of a test keeps its lease."""

from typing import Any, Final

from shared.config.duration import Duration

# Whoever loses a lease has to end, and a machine on which many other things run loses one of
# fifteen seconds. A clean stop gives it back at once, so that nobody waits for its end.
LONG_LEASE: Final[dict[str, Any]] = {
    "lease_duration": Duration(180),
    "renew_deadline": Duration(120),
}
