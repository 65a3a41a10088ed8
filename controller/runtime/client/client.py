"""Typed verbs on kinds: every call is one request, every failure a KubeError."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

import msgspec

from controller.runtime.client.decoding import Decoder, DeleteResult, ObjectList
from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object
from controller.runtime.client.rest import KubeRequest, LineStream, RestClient
from controller.runtime.key import ObjectKey

T = TypeVar("T", bound=Object)

APPLY_PATCH: Final = "application/apply-patch+yaml"
MERGE_PATCH: Final = "application/merge-patch+json"
Body = Mapping[str, Any]
Query = Mapping[str, str]
Propagation = Literal["Background", "Foreground", "Orphan"]


@dataclass(frozen=True, slots=True)
class Preconditions:
    """What must still be true of an object for a delete to happen; empty means anything."""

    uid: str = ""
    resource_version: str = ""

    def to_body(self) -> dict[str, str]:
        given = {"uid": self.uid, "resourceVersion": self.resource_version}
        return {name: value for name, value in given.items() if value}


class Client:
    """Reads and writes objects; `field_manager` is the name under which it owns fields.

    There is no verb that writes a whole object back: fields that a model does not know survive
    only patches and server-side apply.
    """

    def __init__(self, rest: RestClient, field_manager: str) -> None:
        self._rest = rest
        self._field_manager_query = {"fieldManager": field_manager}
        self._decoders: dict[Kind[Any], Decoder[Any]] = {}

    @property
    def rest(self) -> RestClient:
        """For what is no verb on a kind, such as asking for the server's version."""
        return self._rest

    async def get(self, kind: Kind[T], key: ObjectKey) -> T:
        """The object as the server has it now."""
        return self.decoder(kind).decode_object(
            await self._rest.send(KubeRequest("GET", kind.object_path(key)))
        )

    async def list(
        self, kind: Kind[T], namespace: str = "", query: Query | None = None
    ) -> ObjectList[T]:
        """One list request: everything, or one page where `query` has a limit."""
        call = KubeRequest("GET", kind.collection_path(namespace), query or {})
        return await self.decoder(kind).decode_list(await self._rest.send(call))

    async def watch(
        self, kind: Kind[T], namespace: str, query: Query, *, idle_timeout: float
    ) -> LineStream:
        """An open watch, which the caller reads and closes."""
        call = KubeRequest("GET", kind.collection_path(namespace), {**query, "watch": "1"})
        return await self._rest.stream(call, idle_timeout=idle_timeout)

    async def create(self, kind: Kind[T], body: Body) -> T:
        """Make a new object; AlreadyExistsError where the name is taken."""
        namespace = body["metadata"].get("namespace", "")
        call = KubeRequest(
            "POST",
            kind.collection_path(namespace),
            self._field_manager_query,
            encode_object(kind, body),
        )
        return self.decoder(kind).decode_object(await self._rest.send(call))

    async def create_dry_run(self, kind: Kind[T], body: Body) -> None:
        """Fail as `create` would, and make nothing."""
        namespace = body["metadata"].get("namespace", "")
        query = {**self._field_manager_query, "dryRun": "All"}
        await self._rest.send(
            KubeRequest("POST", kind.collection_path(namespace), query, encode_object(kind, body))
        )

    async def apply(
        self, kind: Kind[T], body: Body, subresource: str = "", *, force: bool = True
    ) -> T:
        """Server-side apply: own exactly the fields in `body`, and take them from others.

        Without force ConflictError where somebody else wants another value in one of them.
        """
        key = ObjectKey(body["metadata"].get("namespace", ""), body["metadata"]["name"])
        query = {**self._field_manager_query, "force": "true" if force else "false"}
        call = KubeRequest(
            "PATCH",
            kind.object_path(key, subresource),
            query,
            encode_object(kind, body),
            APPLY_PATCH,
        )
        return self.decoder(kind).decode_object(await self._rest.send(call))

    async def patch(self, kind: Kind[T], key: ObjectKey, body: Body, subresource: str = "") -> T:
        """Merge `body` in; with a resourceVersion in its metadata only if that is still current."""
        path = kind.object_path(key, subresource)
        call = KubeRequest(
            "PATCH", path, self._field_manager_query, msgspec.json.encode(body), MERGE_PATCH
        )
        return self.decoder(kind).decode_object(await self._rest.send(call))

    async def patch_status(self, kind: Kind[T], key: ObjectKey, status: Body) -> T:
        """Merge `status` into the object's status subresource."""
        return await self.patch(kind, key, {"status": status}, "status")

    async def delete(
        self,
        kind: Kind[T],
        key: ObjectKey,
        preconditions: Preconditions | None = None,
        propagation: Propagation = "Background",
    ) -> DeleteResult[T]:
        """Ask for its deletion; ConflictError where `condition` no longer holds."""
        options: dict[str, Any] = {"propagationPolicy": propagation}
        if preconditions is not None:
            options["preconditions"] = preconditions.to_body()
        call = KubeRequest("DELETE", kind.object_path(key), {}, msgspec.json.encode(options))
        return self.decoder(kind).decode_delete_result(await self._rest.send(call))

    def decoder(self, kind: Kind[T]) -> Decoder[T]:
        """The decoder of `kind`, made once a client."""
        decoder = self._decoders.get(kind)
        if decoder is None:
            decoder = self._decoders[kind] = Decoder(kind)
        return decoder


def encode_object(kind: Kind[Any], body: Body) -> bytes:
    """The body with the type that every write must name."""
    return msgspec.json.encode({"apiVersion": kind.api_version, "kind": kind.name, **body})
