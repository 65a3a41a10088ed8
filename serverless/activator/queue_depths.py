"""How much is queued and running, for all functions together."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from serverless.nats.requests import JetStreamClient, JsonObject

REFRESH_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class QueueLoad:
    """Invocations that wait, and that run."""

    queued: int = 0
    running: int = 0

    @property
    def total(self) -> int:
        """All that are not final."""
        return self.queued + self.running


@dataclass(frozen=True, slots=True)
class ConsumerState:
    """The consumer of one function, as far as it can be another than wanted."""

    load: QueueLoad
    max_waiting: int


class QueueDepths:
    """What the last look has shown; `changed` is told which functions differ from the one before.

    One request shows 256 functions, once a second, also while nothing happens: that is all that
    a rest costs.
    """

    def __init__(
        self, jetstream: JetStreamClient, stream: str, on_change: Callable[[str], None]
    ) -> None:
        self._jetstream = jetstream
        self._stream = stream
        self._on_change = on_change
        self._consumers: dict[str, ConsumerState] | None = None

    def get(self, function_name: str) -> ConsumerState | None:
        """The consumer of a function; None where there is none, or nobody has looked yet."""
        return None if self._consumers is None else self._consumers.get(function_name)

    def get_all(self) -> dict[str, ConsumerState]:
        """Every consumer that was seen, by its function."""
        return dict(self._consumers or {})

    async def refresh(self) -> None:
        """Ask for all consumers."""
        before, seen, offset = self._consumers or {}, dict[str, ConsumerState](), 0
        while True:
            said = await self._jetstream.call_api(
                f"CONSUMER.LIST.{self._stream}", {"offset": offset}
            )
            page = said.get("consumers") or []
            seen |= {each["name"]: parse_consumer(each) for each in page}
            offset += len(page)
            if not page or offset >= said["total"]:
                break
        self._consumers = seen
        for request_id in before.keys() | seen.keys():
            if before.get(request_id) != seen.get(request_id):
                self._on_change(request_id)


def parse_consumer(info: JsonObject) -> ConsumerState:
    """What one entry of the list says; a delayed message counts as running."""
    load = QueueLoad(queued=info["num_pending"], running=info["num_ack_pending"])
    return ConsumerState(load, info["config"].get("max_waiting", 0))
