"""Typed verbs on kinds: every call is one request, and every failure is a KubeError."""

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
    """Conditions of a delete; an empty field is no condition."""

    uid: str = ""
    resource_version: str = ""

    def to_body(self) -> dict[str, str]:
        fields = {"uid": self.uid, "resourceVersion": self.resource_version}
        return {name: value for name, value in fields.items() if value}


class Client:
    """Reads and writes objects; it owns the fields that it writes as `field_manager`.

    No verb replaces a whole object, because that would remove the fields that a model does not
    know; patches and server-side apply keep them.
    """

    def __init__(self, rest: RestClient, field_manager: str) -> None:
        self._rest = rest
        self._field_manager_query = {"fieldManager": field_manager}
        self._decoders: dict[Kind[Any], Decoder[Any]] = {}

    @property
    def rest(self) -> RestClient:
        """The client for requests without a kind, such as the version of the server."""
        return self._rest

    async def get(self, kind: Kind[T], key: ObjectKey) -> T:
        """Return the current object; NotFoundError if there is none."""
        return self.decoder(kind).decode_object(
            await self._rest.send(KubeRequest("GET", kind.object_path(key)))
        )

    async def list(
        self, kind: Kind[T], namespace: str = "", query: Query | None = None
    ) -> ObjectList[T]:
        """Send one list request: for all objects, or for one page if `query` has a limit."""
        call = KubeRequest("GET", kind.collection_path(namespace), query or {})
        return await self.decoder(kind).decode_list(await self._rest.send(call))

    async def watch(
        self, kind: Kind[T], namespace: str, query: Query, *, idle_timeout: float
    ) -> LineStream:
        """Open a watch, which the caller reads and closes."""
        call = KubeRequest("GET", kind.collection_path(namespace), {**query, "watch": "1"})
        return await self._rest.stream(call, idle_timeout=idle_timeout)

    async def create(self, kind: Kind[T], body: Body) -> T:
        """Create an object; AlreadyExistsError if the name is in use."""
        namespace = body["metadata"].get("namespace", "")
        call = KubeRequest(
            "POST",
            kind.collection_path(namespace),
            self._field_manager_query,
            encode_object(kind, body),
        )
        return self.decoder(kind).decode_object(await self._rest.send(call))

    async def create_dry_run(self, kind: Kind[T], body: Body) -> None:
        """Raise what `create` would raise, without creating the object."""
        namespace = body["metadata"].get("namespace", "")
        query = {**self._field_manager_query, "dryRun": "All"}
        await self._rest.send(
            KubeRequest("POST", kind.collection_path(namespace), query, encode_object(kind, body))
        )

    async def apply(
        self, kind: Kind[T], body: Body, subresource: str = "", *, force: bool = True
    ) -> T:
        """Apply the fields of `body` on the server, and own exactly these fields.

        Without `force` ConflictError if another manager owns one of them with another value.
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
        """Apply a merge patch; with a resourceVersion in its metadata, only to that version."""
        path = kind.object_path(key, subresource)
        call = KubeRequest(
            "PATCH", path, self._field_manager_query, msgspec.json.encode(body), MERGE_PATCH
        )
        return self.decoder(kind).decode_object(await self._rest.send(call))

    async def patch_status(self, kind: Kind[T], key: ObjectKey, status: Body) -> T:
        """Apply a merge patch to the status subresource."""
        return await self.patch(kind, key, {"status": status}, "status")

    async def delete(
        self,
        kind: Kind[T],
        key: ObjectKey,
        preconditions: Preconditions | None = None,
        propagation: Propagation = "Background",
    ) -> DeleteResult[T]:
        """Delete an object; ConflictError if a precondition fails."""
        options: dict[str, Any] = {"propagationPolicy": propagation}
        if preconditions is not None:
            options["preconditions"] = preconditions.to_body()
        call = KubeRequest("DELETE", kind.object_path(key), {}, msgspec.json.encode(options))
        return self.decoder(kind).decode_delete_result(await self._rest.send(call))

    def decoder(self, kind: Kind[T]) -> Decoder[T]:
        """Return the decoder of `kind`, which is created once per client."""
        decoder = self._decoders.get(kind)
        if decoder is None:
            decoder = self._decoders[kind] = Decoder(kind)
        return decoder


def encode_object(kind: Kind[Any], body: Body) -> bytes:
    """Encode a body, with the API version and the kind."""
    return msgspec.json.encode({"apiVersion": kind.api_version, "kind": kind.name, **body})
