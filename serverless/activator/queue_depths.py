"""How much is queued and running, for all functions together."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from serverless.activator.scaling.plan import Load
from serverless.nats.requests import JetStream, Wire

ROUND_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Consumer:
    """The consumer of one function, as far as it can be another than wanted."""

    load: Load
    max_waiting: int


class Depths:
    """What the last look has shown; `changed` is told which functions differ from the one before.

    One request shows 256 functions, once a second, also while nothing happens: that is all that
    a rest costs.
    """

    def __init__(self, jetstream: JetStream, stream: str, changed: Callable[[str], None]) -> None:
        self._jetstream = jetstream
        self._stream = stream
        self._changed = changed
        self._seen: dict[str, Consumer] | None = None

    def of(self, request_id: str) -> Consumer | None:
        """The consumer of a function; None where there is none, or nobody has looked yet."""
        return None if self._seen is None else self._seen.get(request_id)

    def all(self) -> dict[str, Consumer]:
        """Every consumer that was seen, by its function."""
        return dict(self._seen or {})

    async def look(self) -> None:
        """Ask for all consumers."""
        before, seen, offset = self._seen or {}, dict[str, Consumer](), 0
        while True:
            said = await self._jetstream.ask(f"CONSUMER.LIST.{self._stream}", {"offset": offset})
            page = said.get("consumers") or []
            seen |= {each["name"]: consumer(each) for each in page}
            offset += len(page)
            if not page or offset >= said["total"]:
                break
        self._seen = seen
        for request_id in before.keys() | seen.keys():
            if before.get(request_id) != seen.get(request_id):
                self._changed(request_id)


def consumer(info: Wire) -> Consumer:
    """What one entry of the list says; a delayed message counts as running."""
    load = Load(queued=info["num_pending"], running=info["num_ack_pending"])
    return Consumer(load, info["config"].get("max_waiting", 0))
