"""List, then watch, for ever: keeps a sink equal to what the server has of one kind."""

import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Final, Generic, Protocol, TypeVar

from controller.runtime.cache.backoff import Backoff
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.client.decoding import (
    Bookmark,
    Change,
    Decoder,
    ObjectList,
    UndecodableObject,
)
from controller.runtime.client.kind import Kind, key_of
from controller.runtime.client.objects import Object
from controller.runtime.clock import Clock
from controller.runtime.errors import (
    ConnectRefusedError,
    ExpiredError,
    KubeError,
    ResourceVersionTooLargeError,
    Status,
    ThrottledError,
    UnreachableError,
    error_from_status,
)
from controller.runtime.key import ObjectKey

T = TypeVar("T", bound=Object)

# The server sends a bookmark every minute and remembers events a little longer.
WATCH_IDLE_TIMEOUT_SECONDS: Final = 75.0
WATCH_TIMEOUT_SECONDS: Final = (300, 600)
VERY_SHORT_WATCH_SECONDS: Final = 1.0
# Versions that mean no moment: a watch from there begins with every object, in no order.
UNSET_VERSIONS: Final = ("", "0")

log = logging.getLogger(__name__)


class WatchStream(Protocol):
    """An open watch."""

    def batches(self) -> AsyncIterator[list[bytes]]: ...
    def close(self) -> None: ...


class ListerWatcher(Protocol):
    """Where the reflection comes from: the part of a Client that lists and watches."""

    async def list(
        self, kind: Kind[T], namespace: str, query: Mapping[str, str]
    ) -> ObjectList[T]: ...
    async def watch(
        self, kind: Kind[T], namespace: str, query: Mapping[str, str], *, idle_timeout: float
    ) -> WatchStream: ...
    def decoder(self, kind: Kind[T]) -> Decoder[T]: ...


class Sink(Protocol[T]):
    """Who is told: everything at once, then every change in its order; never awaited."""

    def replace(self, object_list: ObjectList[T]) -> None: ...
    def handle_change(self, change: Change[T]) -> None: ...
    def handle_undecodable(self, undecodable: UndecodableObject) -> None: ...


@dataclass(frozen=True, slots=True)
class WatchScope(Generic[T]):
    """What is reflected: a kind, in all namespaces or one; `page` splits lists, 0 does not.

    `streaming` asks for the initial state as watch events, which was measured to be slower.
    """

    kind: Kind[T]
    namespace: str = ""
    page_size: int = 0
    use_watch_list: bool = False


class WatchEnd(StrEnum):
    """What a watch that is over means for the next step."""

    REOPEN = "closed"  # open it again where it was
    REOPEN_LATER = (
        "throttled"  # the same, after a pause: a list would only add to the server's trouble
    )
    RELIST = "expired"  # its resourceVersion is of no more use, or what came cannot be trusted


class WatchListBuffer(Generic[T]):
    """The events of a streaming list, kept apart until it is complete."""

    def __init__(self) -> None:
        self._objects: dict[ObjectKey, T] = {}
        self._undecodable: dict[ObjectKey, UndecodableObject] = {}

    def add(self, event: Change[T] | UndecodableObject) -> None:
        """Take in one event; a later one of the same object counts instead."""
        key = event.key if isinstance(event, UndecodableObject) else key_of(event.object)
        self._objects.pop(key, None)
        self._undecodable.pop(key, None)
        if isinstance(event, UndecodableObject):
            self._undecodable |= {} if event.is_deleted else {key: event}
        elif not event.is_deleted:
            self._objects[key] = event.object

    def to_object_list(self, resource_version: str) -> ObjectList[T]:
        """What was collected, as a list would have told it."""
        return ObjectList(
            list(self._objects.values()), resource_version, "", tuple(self._undecodable.values())
        )


class Reflector(Generic[T]):
    """Client-go's rules for resource versions, retries and expiry, one stream at a time."""

    def __init__(
        self,
        lister_watcher: ListerWatcher,
        scope: WatchScope[T],
        sink: Sink[T],
        metrics: InformerMetrics,
        clock: Clock,
        rng: Random,
    ) -> None:
        self._lister_watcher = lister_watcher
        self._scope = scope
        self._sink = sink
        self._metrics = metrics
        self._clock = clock
        self._rng = rng
        self._backoff = Backoff(clock, rng)
        self._last_sync_version = ""
        self._is_version_unavailable = False
        self._opened_at = 0.0
        self._watch_list_buffer: WatchListBuffer[T] | None = None
        self.last_received_at: float | None = None

    async def run(self) -> None:
        """Reflect until cancelled; no error of the server or the network ends it."""
        while True:
            try:
                await self._list_and_watch()
            except KubeError as error:
                log.warning(
                    "reflection_failed", extra={"kind": self._kind_name, "error": str(error)}
                )
            await self._clock.sleep(self._backoff.step())

    async def _list_and_watch(self) -> None:
        """Take everything once, then follow changes until everything must be taken again."""
        stream = await self._open_watch_list() if self._scope.use_watch_list else None
        if stream is None:
            await self._list()
        while True:
            try:
                stream = stream or await self._open_watch()
            except (ConnectRefusedError, ThrottledError) as error:
                log.info("watch_refused", extra={"kind": self._kind_name, "error": str(error)})
                await self._clock.sleep(self._backoff.step())
                continue
            outcome, stream = await self._consume_watch(stream), None
            self._metrics.watches.labels(self._kind_name, outcome).inc()
            if outcome is WatchEnd.RELIST or self._watch_list_buffer is not None:
                self._watch_list_buffer = None
                return
            if outcome is WatchEnd.REOPEN_LATER:
                await self._clock.sleep(self._backoff.step())

    async def _list(self) -> None:
        try:
            listing = await self._list_at(self._relist_version())
        except (ExpiredError, ResourceVersionTooLargeError):
            self._is_version_unavailable = True
            listing = await self._list_at("")
        self._replace(listing)

    async def _list_at(self, version: str) -> ObjectList[T]:
        """A whole list, by pages where the scope says so; its version is the first page's."""
        asked = {"resourceVersion": version} if version else {}
        limit = {"limit": str(self._scope.page_size)} if self._scope.page_size else {}
        page = first = await self._request_list({**asked, **limit})
        items, unreadable = first.items, first.undecodable
        while page.continue_token:
            try:
                page = await self._request_list({"continue": page.continue_token, **limit})
            except ExpiredError:
                return await self._request_list(asked)
            items += page.items
            unreadable += page.undecodable
        return ObjectList(items, first.resource_version, "", unreadable)

    async def _request_list(self, query: dict[str, str]) -> ObjectList[T]:
        return await self._lister_watcher.list(self._scope.kind, self._scope.namespace, query)

    async def _open_watch(self) -> WatchStream:
        return await self._watch({"resourceVersion": self._last_sync_version})

    async def _open_watch_list(self) -> WatchStream | None:
        """A watch that begins with everything, or None where the server has no such thing."""
        version = "" if self._is_version_unavailable else self._last_sync_version
        asked = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        try:
            stream = await self._watch({**asked, "resourceVersion": version})
        except (ExpiredError, ResourceVersionTooLargeError):
            self._is_version_unavailable = True
            raise
        except (ConnectRefusedError, ThrottledError):
            raise
        except KubeError as error:
            log.info("no_streaming_list", extra={"kind": self._kind_name, "error": str(error)})
            return None
        self._watch_list_buffer = WatchListBuffer()
        return stream

    async def _watch(self, query: dict[str, str]) -> WatchStream:
        seconds = self._rng.randint(*WATCH_TIMEOUT_SECONDS)
        whole = {**query, "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
        scope, self._opened_at = self._scope, self._clock.monotonic()
        return await self._lister_watcher.watch(
            scope.kind, scope.namespace, whole, idle_timeout=WATCH_IDLE_TIMEOUT_SECONDS
        )

    async def _consume_watch(self, stream: WatchStream) -> WatchEnd:
        """Take every event of one watch to its end; never raises an error of the server."""
        decoder, heard = self._lister_watcher.decoder(self._scope.kind), 0
        try:
            async for lines in stream.batches():
                self.last_received_at = self._clock.monotonic()
                for line in lines:
                    heard += 1
                    self._handle_event(decoder.decode_watch_event(line))
        except ThrottledError:
            return WatchEnd.REOPEN_LATER
        except UnreachableError as error:
            log.debug("watch_broken", extra={"kind": self._kind_name, "error": str(error)})
            return self._end_of_watch(heard, broken=True)
        except KubeError as error:
            level = logging.INFO if isinstance(error, ExpiredError) else logging.WARNING
            log.log(level, "watch_ended", extra={"kind": self._kind_name, "error": str(error)})
            self._is_version_unavailable |= (
                self._watch_list_buffer is not None and is_version_unavailable(error)
            )
            return WatchEnd.RELIST
        finally:
            stream.close()
        return self._end_of_watch(heard, broken=False)

    def _end_of_watch(self, event_count: int, *, broken: bool) -> WatchEnd:
        """A watch with no word in it is suspect: dropped at once, or broken off for its silence.

        A server whose history went back (a restored backup) is silent until it reaches our version.
        """
        if event_count:
            return WatchEnd.REOPEN
        lasted = self._clock.monotonic() - self._opened_at
        mute = broken and lasted >= WATCH_IDLE_TIMEOUT_SECONDS
        return WatchEnd.RELIST if mute or lasted < VERY_SHORT_WATCH_SECONDS else WatchEnd.REOPEN

    def _handle_event(self, event: Change[T] | Bookmark | Status | UndecodableObject) -> None:
        match event:
            case Status():
                raise error_from_status(f"watch of {self._kind_name}", event.code, event)
            case Bookmark():
                self._handle_bookmark(event)
            case UndecodableObject() | Change() if self._watch_list_buffer is not None:
                self._watch_list_buffer.add(event)
            case UndecodableObject():
                self._sink.handle_undecodable(event)
                self._last_sync_version = event.resource_version or self._last_sync_version
            case Change():
                self._sink.handle_change(event)
                if not (event.is_added and self._last_sync_version in UNSET_VERSIONS):
                    self._last_sync_version = event.object.metadata.resource_version

    def _handle_bookmark(self, event: Bookmark) -> None:
        if event.ends_initial_events and self._watch_list_buffer is not None:
            self._replace(self._watch_list_buffer.to_object_list(event.resource_version))
        if self._watch_list_buffer is None:
            self._last_sync_version = event.resource_version or self._last_sync_version

    def _replace(self, object_list: ObjectList[T]) -> None:
        self._watch_list_buffer = None
        self._is_version_unavailable = False
        self._sink.replace(object_list)
        self._last_sync_version = object_list.resource_version
        self.last_received_at = self._clock.monotonic()
        self._metrics.lists.labels(self._kind_name).inc()

    def _relist_version(self) -> str:
        """Never older than what was seen: from the server's cache where that is enough."""
        if self._is_version_unavailable:
            return ""
        return self._last_sync_version or "0"

    @property
    def _kind_name(self) -> str:
        return str(self._scope.kind)


def is_version_unavailable(error: KubeError) -> bool:
    return isinstance(error, ExpiredError | ResourceVersionTooLargeError)
