"""Source with scripted lists and watches, and sink that records what the reflector passes on."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any, TypeVar

from controller.runtime.client.decoding import Change, Decoder, ObjectList, UndecodableObject
from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object
from controller.runtime.clock import Clock
from controller.runtime.errors import UnreachableError
from tests.support.builders.note_resource import Note

T = TypeVar("T", bound=Object)

# Query parameters of every watch; one test checks them separately.
COMMON_QUERY_KEYS = ("allowWatchBookmarks", "timeoutSeconds")


class ScriptedWatch:
    """Open watch that buffers lines until they are read, and stays silent after the last line."""

    def __init__(self, *lines: bytes, opens_after: float = 0.0) -> None:
        self._steps: asyncio.Queue[list[bytes] | Exception | None] = asyncio.Queue()
        self.opens_after = opens_after
        self.close_count = 0
        if lines:
            self.add_lines(*lines)

    def add_lines(self, *lines: bytes) -> "ScriptedWatch":
        """Add lines that arrive together."""
        self._steps.put_nowait(list(lines))
        return self

    def end_stream(self) -> "ScriptedWatch":
        """End the stream as the server does at its timeout."""
        self._steps.put_nowait(None)
        return self

    def break_connection(self) -> "ScriptedWatch":
        """Break the connection."""
        self._steps.put_nowait(UnreachableError("connection reset"))
        return self

    async def batches(self) -> AsyncIterator[list[bytes]]:
        while (step := await self._steps.get()) is not None:
            if isinstance(step, Exception):
                raise step
            yield step

    def close(self) -> None:
        self.close_count += 1


class ScriptedSource:
    """Source that returns its answers in order; a request without an answer hangs."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lists: deque[ObjectList[Any] | Exception] = deque()
        self._watches: deque[ScriptedWatch | Exception] = deque()
        self.requests: list[str] = []
        self.queries: list[dict[str, str]] = []
        self.silences: list[float] = []
        self.opened_watches: list[ScriptedWatch] = []

    def add_lists(self, *answers: ObjectList[Note] | Exception) -> "ScriptedSource":
        self._lists.extend(answers)
        return self

    def add_watches(self, *answers: ScriptedWatch | Exception) -> "ScriptedSource":
        self._watches.extend(answers)
        return self

    async def list(self, kind: Kind[T], namespace: str, query: Mapping[str, str]) -> ObjectList[T]:
        self._record_request("list", query)
        answer = self._lists.popleft() if self._lists else await wait_forever()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def watch(
        self, kind: Kind[T], namespace: str, query: Mapping[str, str], *, idle_timeout: float
    ) -> ScriptedWatch:
        self._record_request("watch", query)
        self.silences.append(idle_timeout)
        answer = self._watches.popleft() if self._watches else await wait_forever()
        if isinstance(answer, Exception):
            raise answer
        if answer.opens_after:
            await self._clock.sleep(answer.opens_after)
        self.opened_watches.append(answer)
        return answer

    def decoder(self, kind: Kind[T]) -> Decoder[T]:
        return Decoder(kind)

    def _record_request(self, verb: str, query: Mapping[str, str]) -> None:
        shown = [
            f"{name}={value}" for name, value in query.items() if name not in COMMON_QUERY_KEYS
        ]
        self.requests.append(" ".join([verb, *shown]))
        self.queries.append(dict(query))


async def wait_forever() -> Any:
    await asyncio.Event().wait()


class RecordingSink:
    """Sink that records everything from the reflector as text."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def replace(self, object_list: ObjectList[Note]) -> None:
        readable = [note_and_version(note) for note in object_list.items]
        undecodable = [f"unreadable {item.key.name}" for item in object_list.undecodable]
        self.log.append(
            " ".join([f"everything at {object_list.resource_version}:", *readable, *undecodable])
        )

    def handle_change(self, change: Change[Note]) -> None:
        self.log.append(
            f"{'gone' if change.is_deleted else 'put'} {note_and_version(change.object)}"
        )

    def handle_undecodable(self, undecodable: UndecodableObject) -> None:
        event = "unreadable and gone" if undecodable.is_deleted else "unreadable"
        self.log.append(f"{event} {undecodable.key.name}@{undecodable.resource_version}")


def note_and_version(note: Note) -> str:
    return f"{note.metadata.name}@{note.metadata.resource_version}"
