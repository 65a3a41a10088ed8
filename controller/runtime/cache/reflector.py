"""The reflector: lists, then watches, and keeps a sink equal to the server's objects of a kind."""

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

# The server sends a bookmark every minute and keeps events a little longer.
WATCH_IDLE_TIMEOUT_SECONDS: Final = 75.0
WATCH_TIMEOUT_SECONDS: Final = (300, 600)
VERY_SHORT_WATCH_SECONDS: Final = 1.0
# Versions without a definite time: a watch from there begins with all objects, in any order.
UNSET_VERSIONS: Final = ("", "0")

log = logging.getLogger(__name__)


class WatchStream(Protocol):
    """An open watch."""

    def batches(self) -> AsyncIterator[list[bytes]]: ...
    def close(self) -> None: ...


class ListerWatcher(Protocol):
    """The part of a Client that lists and watches."""

    async def list(
        self, kind: Kind[T], namespace: str, query: Mapping[str, str]
    ) -> ObjectList[T]: ...
    async def watch(
        self, kind: Kind[T], namespace: str, query: Mapping[str, str], *, idle_timeout: float
    ) -> WatchStream: ...
    def decoder(self, kind: Kind[T]) -> Decoder[T]: ...


class Sink(Protocol[T]):
    """Receives the whole list first, then every change in order; its methods do not wait."""

    def replace(self, object_list: ObjectList[T]) -> None: ...
    def handle_change(self, change: Change[T]) -> None: ...
    def handle_undecodable(self, undecodable: UndecodableObject) -> None: ...


@dataclass(frozen=True, slots=True)
class WatchScope(Generic[T]):
    """A kind, in all namespaces or in one; `page_size` 0 means a list of one page.

    `use_watch_list` requests the initial state as watch events, which was measured to be slower.
    """

    kind: Kind[T]
    namespace: str = ""
    page_size: int = 0
    use_watch_list: bool = False


class WatchEnd(StrEnum):
    """The end of a watch, which decides the next step of the reflector."""

    REOPEN = "closed"  # watch again from the last version
    REOPEN_LATER = "throttled"  # the same, after a pause: a list would add to the server's load
    RELIST = "expired"  # the version is too old, or the events cannot be trusted


class WatchListBuffer(Generic[T]):
    """Collects the events of a streaming list until it is complete."""

    def __init__(self) -> None:
        self._objects: dict[ObjectKey, T] = {}
        self._undecodable: dict[ObjectKey, UndecodableObject] = {}

    def add(self, event: Change[T] | UndecodableObject) -> None:
        """Add one event; it replaces an earlier event of the same object."""
        key = event.key if isinstance(event, UndecodableObject) else key_of(event.object)
        self._objects.pop(key, None)
        self._undecodable.pop(key, None)
        if isinstance(event, UndecodableObject):
            self._undecodable |= {} if event.is_deleted else {key: event}
        elif not event.is_deleted:
            self._objects[key] = event.object

    def to_object_list(self, resource_version: str) -> ObjectList[T]:
        """Return the collected objects as a list."""
        return ObjectList(
            list(self._objects.values()), resource_version, "", tuple(self._undecodable.values())
        )


class Reflector(Generic[T]):
    """Follows one kind by client-go's rules for resource versions, retries and expiry."""

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
        """Follow the server until cancelled; errors of the server or the network do not end it."""
        while True:
            try:
                await self._list_and_watch()
            except KubeError as error:
                log.warning(
                    "reflection_failed", extra={"kind": self._kind_name, "error": str(error)}
                )
            await self._clock.sleep(self._backoff.step())

    async def _list_and_watch(self) -> None:
        """List once, then watch until a new list is necessary."""
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
            watch_end, stream = await self._consume_watch(stream), None
            self._metrics.watches.labels(self._kind_name, watch_end).inc()
            if watch_end is WatchEnd.RELIST or self._watch_list_buffer is not None:
                self._watch_list_buffer = None
                return
            if watch_end is WatchEnd.REOPEN_LATER:
                await self._clock.sleep(self._backoff.step())

    async def _list(self) -> None:
        try:
            object_list = await self._list_at(self._relist_version())
        except (ExpiredError, ResourceVersionTooLargeError):
            self._is_version_unavailable = True
            object_list = await self._list_at("")
        self._replace(object_list)

    async def _list_at(self, version: str) -> ObjectList[T]:
        """Request a whole list, by pages if the scope says so; its version is the first page's."""
        version_query = {"resourceVersion": version} if version else {}
        limit = {"limit": str(self._scope.page_size)} if self._scope.page_size else {}
        page = first = await self._request_list({**version_query, **limit})
        items, undecodable = first.items, first.undecodable
        while page.continue_token:
            try:
                page = await self._request_list({"continue": page.continue_token, **limit})
            except ExpiredError:
                return await self._request_list(version_query)
            items += page.items
            undecodable += page.undecodable
        return ObjectList(items, first.resource_version, "", undecodable)

    async def _request_list(self, query: dict[str, str]) -> ObjectList[T]:
        return await self._lister_watcher.list(self._scope.kind, self._scope.namespace, query)

    async def _open_watch(self) -> WatchStream:
        return await self._watch({"resourceVersion": self._last_sync_version})

    async def _open_watch_list(self) -> WatchStream | None:
        """Open a watch that begins with all objects; None if the server does not support it."""
        version = "" if self._is_version_unavailable else self._last_sync_version
        query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        try:
            stream = await self._watch({**query, "resourceVersion": version})
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
        watch_query = {**query, "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
        scope, self._opened_at = self._scope, self._clock.monotonic()
        return await self._lister_watcher.watch(
            scope.kind, scope.namespace, watch_query, idle_timeout=WATCH_IDLE_TIMEOUT_SECONDS
        )

    async def _consume_watch(self, stream: WatchStream) -> WatchEnd:
        """Handle all events of a watch until it ends; does not raise errors of the server."""
        decoder, event_count = self._lister_watcher.decoder(self._scope.kind), 0
        try:
            async for lines in stream.batches():
                self.last_received_at = self._clock.monotonic()
                for line in lines:
                    event_count += 1
                    self._handle_event(decoder.decode_watch_event(line))
        except ThrottledError:
            return WatchEnd.REOPEN_LATER
        except UnreachableError as error:
            log.debug("watch_broken", extra={"kind": self._kind_name, "error": str(error)})
            return self._end_of_watch(event_count, broken=True)
        except KubeError as error:
            level = logging.INFO if isinstance(error, ExpiredError) else logging.WARNING
            log.log(level, "watch_ended", extra={"kind": self._kind_name, "error": str(error)})
            self._is_version_unavailable |= (
                self._watch_list_buffer is not None and is_version_unavailable(error)
            )
            return WatchEnd.RELIST
        finally:
            stream.close()
        return self._end_of_watch(event_count, broken=False)

    def _end_of_watch(self, event_count: int, *, broken: bool) -> WatchEnd:
        """Return how a watch ended; one without events is suspect if it was short or silent.

        A server that was restored from a backup is silent until it reaches our version.
        """
        if event_count:
            return WatchEnd.REOPEN
        lasted = self._clock.monotonic() - self._opened_at
        silent = broken and lasted >= WATCH_IDLE_TIMEOUT_SECONDS
        return WatchEnd.RELIST if silent or lasted < VERY_SHORT_WATCH_SECONDS else WatchEnd.REOPEN

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
        """Return a version that is not older than the last one; 0 means the server's cache."""
        if self._is_version_unavailable:
            return ""
        return self._last_sync_version or "0"

    @property
    def _kind_name(self) -> str:
        return str(self._scope.kind)


def is_version_unavailable(error: KubeError) -> bool:
    return isinstance(error, ExpiredError | ResourceVersionTooLargeError)
