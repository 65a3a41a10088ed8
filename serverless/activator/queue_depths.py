"""Polls the queue depths of all functions together."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from serverless.nats.requests import JetStreamClient, JsonObject

REFRESH_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class QueueLoad:
    """The numbers of waiting and of running invocations."""

    queued: int = 0
    running: int = 0

    @property
    def total(self) -> int:
        """All invocations that are not final."""
        return self.queued + self.running


@dataclass(frozen=True, slots=True)
class ConsumerState:
    """The load of a consumer, and the part of its configuration that may differ."""

    load: QueueLoad
    max_waiting: int


class QueueDepths:
    """The consumers of the last poll; calls `on_change` with each function whose consumer differs.

    One request lists 256 functions. One poll a second is all that idle functions cost.
    """

    def __init__(
        self, jetstream: JetStreamClient, stream: str, on_change: Callable[[str], None]
    ) -> None:
        self._jetstream = jetstream
        self._stream = stream
        self._on_change = on_change
        self._consumers: dict[str, ConsumerState] | None = None

    def get(self, function_name: str) -> ConsumerState | None:
        """Return the consumer of a function; None if it does not exist or before the first poll."""
        return None if self._consumers is None else self._consumers.get(function_name)

    def get_all(self) -> dict[str, ConsumerState]:
        """Return all consumers of the last poll, by function."""
        return dict(self._consumers or {})

    async def refresh(self) -> None:
        """Poll all consumers."""
        old, new, offset = self._consumers or {}, dict[str, ConsumerState](), 0
        while True:
            reply = await self._jetstream.call_api(
                f"CONSUMER.LIST.{self._stream}", {"offset": offset}
            )
            page = reply.get("consumers") or []
            new |= {info["name"]: parse_consumer(info) for info in page}
            offset += len(page)
            if not page or offset >= reply["total"]:
                break
        self._consumers = new
        for function_name in old.keys() | new.keys():
            if old.get(function_name) != new.get(function_name):
                self._on_change(function_name)


def parse_consumer(info: JsonObject) -> ConsumerState:
    """Return the state of a listed consumer; a delayed message counts as running."""
    load = QueueLoad(queued=info["num_pending"], running=info["num_ack_pending"])
    return ConsumerState(load, info["config"].get("max_waiting", 0))
