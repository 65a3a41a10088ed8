"""List, then watch, for ever: keeps a sink equal to what the server has of one kind."""

import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Final, Generic, Protocol, TypeVar

from controller.runtime.cache.backoff import Backoff
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.client.decoding import Bookmark, Change, Decoder, Listing, Unreadable
from controller.runtime.client.kind import Kind, key_of
from controller.runtime.client.objects import Object
from controller.runtime.clock import Clock
from controller.runtime.errors import (
    ApiError,
    ConnectRefusedError,
    ExpiredError,
    Status,
    ThrottledError,
    UnreachableError,
    VersionTooLargeError,
    error_of,
)
from controller.runtime.key import ObjectKey

T = TypeVar("T", bound=Object)

# The server sends a bookmark every minute and remembers events a little longer.
SILENCE_SECONDS: Final = 75.0
WATCH_SECONDS: Final = (300, 600)
VERY_SHORT_SECONDS: Final = 1.0
# Versions that mean no moment: a watch from there begins with every object, in no order.
NOWHERE: Final = ("", "0")

log = logging.getLogger(__name__)


class Events(Protocol):
    """An open watch."""

    def batches(self) -> AsyncIterator[list[bytes]]: ...
    def close(self) -> None: ...


class Source(Protocol):
    """Where the reflection comes from: the part of a Client that lists and watches."""

    async def list(self, kind: Kind[T], namespace: str, query: Mapping[str, str]) -> Listing[T]: ...
    async def watch(
        self, kind: Kind[T], namespace: str, query: Mapping[str, str], *, silence: float
    ) -> Events: ...
    def decoder(self, kind: Kind[T]) -> Decoder[T]: ...


class Sink(Protocol[T]):
    """Who is told: everything at once, then every change in its order; never awaited."""

    def replace(self, listing: Listing[T]) -> None: ...
    def change(self, change: Change[T]) -> None: ...
    def unreadable(self, found: Unreadable) -> None: ...


@dataclass(frozen=True, slots=True)
class Scope(Generic[T]):
    """What is reflected: a kind, in all namespaces or one; `page` splits lists, 0 does not.

    `streaming` asks for the initial state as watch events, which was measured to be slower.
    """

    kind: Kind[T]
    namespace: str = ""
    page: int = 0
    streaming: bool = False


class Outcome(StrEnum):
    """What a watch that is over means for the next step."""

    AGAIN = "closed"  # open it again where it was
    LATER = "throttled"  # the same, after a pause: a list would only add to the server's trouble
    RELIST = "expired"  # its resourceVersion is of no more use, or what came cannot be trusted


class Collection(Generic[T]):
    """The events of a streaming list, kept apart until it is complete."""

    def __init__(self) -> None:
        self._objects: dict[ObjectKey, T] = {}
        self._unreadable: dict[ObjectKey, Unreadable] = {}

    def add(self, event: Change[T] | Unreadable) -> None:
        """Take in one event; a later one of the same object counts instead."""
        key = event.key if isinstance(event, Unreadable) else key_of(event.object)
        self._objects.pop(key, None)
        self._unreadable.pop(key, None)
        if isinstance(event, Unreadable):
            self._unreadable |= {} if event.gone else {key: event}
        elif not event.gone:
            self._objects[key] = event.object

    def listing(self, version: str) -> Listing[T]:
        """What was collected, as a list would have told it."""
        return Listing(list(self._objects.values()), version, "", tuple(self._unreadable.values()))


class Reflector(Generic[T]):
    """Client-go's rules for resource versions, retries and expiry, one stream at a time."""

    def __init__(
        self,
        source: Source,
        scope: Scope[T],
        sink: Sink[T],
        metrics: InformerMetrics,
        clock: Clock,
        randomness: Random,
    ) -> None:
        self._source = source
        self._scope = scope
        self._sink = sink
        self._metrics = metrics
        self._clock = clock
        self._randomness = randomness
        self._backoff = Backoff(clock, randomness)
        self._version = ""
        self._version_unavailable = False
        self._opened_at = 0.0
        self._collected: Collection[T] | None = None
        self.last_heard: float | None = None

    async def run(self) -> None:
        """Reflect until cancelled; no error of the server or the network ends it."""
        while True:
            try:
                await self._list_and_watch()
            except ApiError as error:
                log.warning("reflection_failed", extra={"kind": self._name, "error": str(error)})
            await self._clock.sleep(self._backoff.step())

    async def _list_and_watch(self) -> None:
        """Take everything once, then follow changes until everything must be taken again."""
        stream = await self._open_streaming_list() if self._scope.streaming else None
        if stream is None:
            await self._list()
        while True:
            try:
                stream = stream or await self._open_watch()
            except (ConnectRefusedError, ThrottledError) as error:
                log.info("watch_refused", extra={"kind": self._name, "error": str(error)})
                await self._clock.sleep(self._backoff.step())
                continue
            outcome, stream = await self._follow(stream), None
            self._metrics.watches.labels(self._name, outcome).inc()
            if outcome is Outcome.RELIST or self._collected is not None:
                self._collected = None
                return
            if outcome is Outcome.LATER:
                await self._clock.sleep(self._backoff.step())

    async def _list(self) -> None:
        try:
            listing = await self._list_at(self._relist_version())
        except (ExpiredError, VersionTooLargeError):
            self._version_unavailable = True
            listing = await self._list_at("")
        self._replace(listing)

    async def _list_at(self, version: str) -> Listing[T]:
        """A whole list, by pages where the scope says so; its version is the first page's."""
        asked = {"resourceVersion": version} if version else {}
        limit = {"limit": str(self._scope.page)} if self._scope.page else {}
        page = first = await self._request_list({**asked, **limit})
        items, unreadable = first.items, first.unreadable
        while page.go_on:
            try:
                page = await self._request_list({"continue": page.go_on, **limit})
            except ExpiredError:
                return await self._request_list(asked)
            items += page.items
            unreadable += page.unreadable
        return Listing(items, first.resource_version, "", unreadable)

    async def _request_list(self, query: dict[str, str]) -> Listing[T]:
        return await self._source.list(self._scope.kind, self._scope.namespace, query)

    async def _open_watch(self) -> Events:
        return await self._watch({"resourceVersion": self._version})

    async def _open_streaming_list(self) -> Events | None:
        """A watch that begins with everything, or None where the server has no such thing."""
        version = "" if self._version_unavailable else self._version
        asked = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        try:
            stream = await self._watch({**asked, "resourceVersion": version})
        except (ExpiredError, VersionTooLargeError):
            self._version_unavailable = True
            raise
        except (ConnectRefusedError, ThrottledError):
            raise
        except ApiError as error:
            log.info("no_streaming_list", extra={"kind": self._name, "error": str(error)})
            return None
        self._collected = Collection()
        return stream

    async def _watch(self, query: dict[str, str]) -> Events:
        seconds = self._randomness.randint(*WATCH_SECONDS)
        whole = {**query, "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
        scope, self._opened_at = self._scope, self._clock.monotonic()
        return await self._source.watch(scope.kind, scope.namespace, whole, silence=SILENCE_SECONDS)

    async def _follow(self, stream: Events) -> Outcome:
        """Take every event of one watch to its end; never raises an error of the server."""
        decoder, heard = self._source.decoder(self._scope.kind), 0
        try:
            async for lines in stream.batches():
                self.last_heard = self._clock.monotonic()
                for line in lines:
                    heard += 1
                    self._accept(decoder.event(line))
        except ThrottledError:
            return Outcome.LATER
        except UnreachableError as error:
            log.debug("watch_broken", extra={"kind": self._name, "error": str(error)})
            return self._after_the_end(heard, broken=True)
        except ApiError as error:
            level = logging.INFO if isinstance(error, ExpiredError) else logging.WARNING
            log.log(level, "watch_ended", extra={"kind": self._name, "error": str(error)})
            self._version_unavailable |= self._collected is not None and is_version_lost(error)
            return Outcome.RELIST
        finally:
            stream.close()
        return self._after_the_end(heard, broken=False)

    def _after_the_end(self, heard: int, *, broken: bool) -> Outcome:
        """A watch with no word in it is suspect: dropped at once, or broken off for its silence.

        A server whose history went back (a restored backup) is silent until it reaches our version.
        """
        if heard:
            return Outcome.AGAIN
        lasted = self._clock.monotonic() - self._opened_at
        mute = broken and lasted >= SILENCE_SECONDS
        return Outcome.RELIST if mute or lasted < VERY_SHORT_SECONDS else Outcome.AGAIN

    def _accept(self, event: Change[T] | Bookmark | Status | Unreadable) -> None:
        match event:
            case Status():
                raise error_of(f"watch of {self._name}", event.code, event)
            case Bookmark():
                self._accept_bookmark(event)
            case Unreadable() | Change() if self._collected is not None:
                self._collected.add(event)
            case Unreadable():
                self._sink.unreadable(event)
                self._version = event.resource_version or self._version
            case Change():
                self._sink.change(event)
                if not (event.added and self._version in NOWHERE):
                    self._version = event.object.metadata.resource_version

    def _accept_bookmark(self, event: Bookmark) -> None:
        if event.ends_initial_events and self._collected is not None:
            self._replace(self._collected.listing(event.resource_version))
        if self._collected is None:
            self._version = event.resource_version or self._version

    def _replace(self, listing: Listing[T]) -> None:
        self._collected = None
        self._version_unavailable = False
        self._sink.replace(listing)
        self._version = listing.resource_version
        self.last_heard = self._clock.monotonic()
        self._metrics.lists.labels(self._name).inc()

    def _relist_version(self) -> str:
        """Never older than what was seen: from the server's cache where that is enough."""
        if self._version_unavailable:
            return ""
        return self._version or "0"

    @property
    def _name(self) -> str:
        return str(self._scope.kind)


def is_version_lost(error: ApiError) -> bool:
    return isinstance(error, ExpiredError | VersionTooLargeError)
