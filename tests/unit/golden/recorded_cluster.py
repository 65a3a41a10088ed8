"""Kubernetes API in memory for a controller: it stores objects and records the writes."""

import json
from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import Any, Final, cast

import msgspec

from controller import kinds
from controller.runtime.cache.informer import Informer
from controller.runtime.client.client import Client
from controller.runtime.client.decoding import ObjectList
from controller.runtime.client.kind import Kind
from controller.runtime.client.rest import KubeRequest, RestClient
from controller.runtime.errors import NotFoundError
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.key import ObjectKey
from tests.model.server import apply_merge_patch
from tests.support.clocks.virtual_clock import VirtualClock

Document = dict[str, Any]

KINDS: Final[dict[str, Kind[Any]]] = {
    kind.name: kind for kind in vars(kinds).values() if isinstance(kind, Kind)
}


class RecordedCluster:
    """Cluster that responds to a client's requests, and applies and records the writes."""

    def __init__(self, found: Iterable[Document], manager: str) -> None:
        self.writes: list[Document] = []
        self._objects = {path_of(document): identified(document) for document in found}
        self._version = 100
        self.clock = VirtualClock()
        self.client = Client(cast(RestClient, self), manager)
        self.recorder = EventRecorder(self.client, self.clock, Random(7), manager, "instance")

    async def send(self, call: KubeRequest, *, within: float = 30.0) -> bytes:
        """Return the response of the server to a request."""
        if call.method == "GET":
            return msgspec.json.encode(self._read(call))
        body = json.loads(call.body or b"{}")
        query = "&".join(f"{name}={value}" for name, value in call.query.items())
        to = f"{call.method} {call.path}{f'?{query}' if query else ''}"
        self.writes.append({"call": to, "type": call.content_type, "body": body})
        return msgspec.json.encode(self._write(call, body))

    async def flush_events(self) -> None:
        """Write the pending Events."""
        await self.recorder._flush()

    def fill(self, informers: Iterable[Informer[Any]]) -> None:
        """Fill the caches with all objects."""
        for informer in informers:
            decoder = self.client.decoder(informer.kind)
            known = [
                decoder.decode_object(msgspec.json.encode(document))
                for document in self._objects.values()
                if document["kind"] == informer.kind.name
                and informer.is_responsible_for(
                    informer.kind, document["metadata"].get("namespace", "")
                )
            ]
            informer.replace(ObjectList(known, "1"))

    def _read(self, call: KubeRequest) -> Document:
        if (found := self._objects.get(call.path)) is not None:
            return found
        items = list(self._listed(call))
        if not items and call.path.rpartition("/")[2] not in {k.plural for k in KINDS.values()}:
            raise NotFoundError(str(call), status=404)
        return {"metadata": {"resourceVersion": "1"}, "items": items}

    def _listed(self, call: KubeRequest) -> Iterator[Document]:
        name, _, value = call.query.get("labelSelector", "").partition("=")
        for path, document in self._objects.items():
            is_in_collection = path.rpartition("/")[0] == call.path
            labels = document["metadata"].get("labels", {})
            if is_in_collection and (not name or labels.get(name) == value):
                yield document

    def _write(self, call: KubeRequest, body: Document) -> Document:
        self._version += 1
        version = {"resourceVersion": str(self._version)}
        if call.method == "DELETE":
            uid = self._objects.pop(call.path)["metadata"]["uid"]
            return {"kind": "Status", "details": {"uid": uid}}
        if call.method == "POST":
            created = identified({**body, "metadata": {**body["metadata"], **version}})
            if "dryRun" not in call.query:
                self._objects[f"{call.path}/{created['metadata']['name']}"] = created
            return created
        path = call.path.removesuffix("/status")
        new = identified(apply_merge_patch(self._objects.get(path, {}), body))
        new["metadata"] |= version
        self._objects[path] = new
        return new


def path_of(document: Document) -> str:
    meta = document["metadata"]
    return KINDS[document["kind"]].object_path(ObjectKey(meta.get("namespace", ""), meta["name"]))


def identified(document: Mapping[str, Any]) -> Document:
    """Return the object with the fields that the server sets on each object."""
    meta = document["metadata"]
    defaults = {
        "uid": f"uid-of-{meta.get('name', '')}",
        "resourceVersion": "1",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return {**document, "metadata": {**defaults, **meta}}
