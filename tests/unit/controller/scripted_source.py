"""A server that answers lists and watches as a test says, and a sink that writes down the rest."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any, TypeVar

from controller.runtime.client.decoding import Change, Decoder, Listing, Unreadable
from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object
from controller.runtime.clock import Clock
from controller.runtime.errors import UnreachableError
from tests.support.builders.note_resource import Note

T = TypeVar("T", bound=Object)

# What every watch asks for; a test of its own looks at it.
ALWAYS = ("allowWatchBookmarks", "timeoutSeconds")


class ScriptedWatch:
    """An open watch: what was said before it is read waits, and it stays silent after that."""

    def __init__(self, *lines: bytes, opens_after: float = 0.0) -> None:
        self._steps: asyncio.Queue[list[bytes] | Exception | None] = asyncio.Queue()
        self.opens_after = opens_after
        self.closed = 0
        if lines:
            self.say(*lines)

    def say(self, *lines: bytes) -> "ScriptedWatch":
        """These lines arrive together."""
        self._steps.put_nowait(list(lines))
        return self

    def end(self) -> "ScriptedWatch":
        """The server closes the stream as it does when its time is over."""
        self._steps.put_nowait(None)
        return self

    def break_off(self) -> "ScriptedWatch":
        """The connection is lost."""
        self._steps.put_nowait(UnreachableError("connection reset"))
        return self

    async def batches(self) -> AsyncIterator[list[bytes]]:
        while (step := await self._steps.get()) is not None:
            if isinstance(step, Exception):
                raise step
            yield step

    def close(self) -> None:
        self.closed += 1


class ScriptedSource:
    """Gives its answers in their order; when there is none left, the request hangs."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lists: deque[Listing[Any] | Exception] = deque()
        self._watches: deque[ScriptedWatch | Exception] = deque()
        self.asked: list[str] = []
        self.queries: list[dict[str, str]] = []
        self.silences: list[float] = []
        self.opened: list[ScriptedWatch] = []

    def lists(self, *answers: Listing[Note] | Exception) -> "ScriptedSource":
        self._lists.extend(answers)
        return self

    def watches(self, *answers: ScriptedWatch | Exception) -> "ScriptedSource":
        self._watches.extend(answers)
        return self

    async def list(self, kind: Kind[T], namespace: str, query: Mapping[str, str]) -> Listing[T]:
        self._note("list", query)
        answer = self._lists.popleft() if self._lists else await hang()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def watch(
        self, kind: Kind[T], namespace: str, query: Mapping[str, str], *, silence: float
    ) -> ScriptedWatch:
        self._note("watch", query)
        self.silences.append(silence)
        answer = self._watches.popleft() if self._watches else await hang()
        if isinstance(answer, Exception):
            raise answer
        if answer.opens_after:
            await self._clock.sleep(answer.opens_after)
        self.opened.append(answer)
        return answer

    def decoder(self, kind: Kind[T]) -> Decoder[T]:
        return Decoder(kind)

    def _note(self, verb: str, query: Mapping[str, str]) -> None:
        told = [f"{name}={value}" for name, value in query.items() if name not in ALWAYS]
        self.asked.append(" ".join([verb, *told]))
        self.queries.append(dict(query))


async def hang() -> Any:
    await asyncio.Event().wait()


class RecordingSink:
    """Everything that a reflector told, in words."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def replace(self, listing: Listing[Note]) -> None:
        known = [named(note) for note in listing.items]
        lost = [f"unreadable {found.key.name}" for found in listing.unreadable]
        self.told.append(" ".join([f"everything at {listing.resource_version}:", *known, *lost]))

    def change(self, change: Change[Note]) -> None:
        self.told.append(f"{'gone' if change.gone else 'put'} {named(change.object)}")

    def unreadable(self, found: Unreadable) -> None:
        what = "unreadable and gone" if found.gone else "unreadable"
        self.told.append(f"{what} {found.key.name}@{found.resource_version}")


def named(note: Note) -> str:
    return f"{note.metadata.name}@{note.metadata.resource_version}"
