"""API server in memory, with the interface of the library's REST client."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec

from controller.runtime.client.rest import KubeRequest, LineStream, RestClient
from controller.runtime.errors import AlreadyExistsError, ConflictError, NotFoundError


class InMemoryWatch(LineStream):
    """Open watch of one collection."""

    def __init__(self, collection: str) -> None:
        self.collection = collection
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()

    def send(self, event_type: str, subject: object) -> None:
        self._lines.put_nowait(msgspec.json.encode({"type": event_type, "object": subject}))

    async def batches(self) -> AsyncIterator[list[bytes]]:
        while True:
            yield [await self._lines.get()]

    def close(self) -> None:
        """Do nothing, because a test ends together with its watches."""


class InMemoryApi(RestClient):
    """In-memory API that stores objects by path, and sends changes to the collections' watches.

    It can list the collections of the plural names that it is given.
    """

    def __init__(self, *plurals: str) -> None:
        self._plurals = plurals or ("notes", "configmaps")
        self.objects: dict[str, dict[str, Any]] = {}
        self.requests: list[str] = []
        self._watches: list[InMemoryWatch] = []
        self._version = 1

    @property
    def server(self) -> str:
        return "https://in-memory"

    async def send(self, request: KubeRequest, *, timeout_seconds: float = 30.0) -> bytes:
        self.requests.append(str(request))
        await asyncio.sleep(0)
        return msgspec.json.encode(self._handle(request))

    async def stream(self, request: KubeRequest, *, idle_timeout: float) -> LineStream:
        watch = InMemoryWatch(request.path)
        self._watches.append(watch)
        return watch

    def put(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Store an object as another client would."""
        known = self.objects.get(path)
        self._version += 1
        collection, _, name = path.rpartition("/")
        expected = body.get("metadata", {}).get("resourceVersion")
        if known is not None and expected not in (None, known["metadata"]["resourceVersion"]):
            raise ConflictError("changed", status=409)
        subject = merged(known or {"metadata": {}}, body)
        subject["metadata"] |= {
            "name": name,
            "namespace": collection.split("/namespaces/")[-1].split("/")[0],
            "uid": known["metadata"]["uid"] if known else f"uid-{self._version}",
            "resourceVersion": str(self._version),
        }
        self.objects[path] = subject
        self._notify("MODIFIED" if known else "ADDED", collection, subject)
        return subject

    def remove(self, path: str) -> None:
        """Delete an object as another client would."""
        self._version += 1
        subject = self.objects.pop(path)
        subject["metadata"]["resourceVersion"] = str(self._version)
        self._notify("DELETED", path.rpartition("/")[0], subject)

    def _handle(self, request: KubeRequest) -> dict[str, Any]:
        path = request.path.removesuffix("/status")
        body = msgspec.json.decode(request.body) if request.body else {}
        if request.method == "POST":
            path = f"{path}/{body['metadata']['name']}"
            if path in self.objects:
                raise AlreadyExistsError("exists", status=409)
            return self.put(path, body)
        if request.method == "PATCH":
            return self.put(path, body)
        if path == "/version":
            return {"major": "1"}
        if path in self.objects:
            return self.objects[path]
        if path.rpartition("/")[2] in self._plurals:
            return self._list(path)
        raise NotFoundError("not found", status=404)

    def _list(self, collection: str) -> dict[str, Any]:
        items = [
            subject
            for path, subject in self.objects.items()
            if path.rpartition("/")[0] == collection
        ]
        return {"metadata": {"resourceVersion": str(self._version)}, "items": items}

    def _notify(self, event_type: str, collection: str, subject: object) -> None:
        for watch in self._watches:
            if watch.collection == collection:
                watch.send(event_type, subject)


def merged(known: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object after a merge patch."""
    result = dict(known)
    for name, value in patch.items():
        old = result.get(name)
        is_map = isinstance(value, dict) and isinstance(old, dict)
        result[name] = merged(old or {}, value) if is_map else value
    return result
