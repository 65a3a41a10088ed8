"""Decoding of Kubernetes responses into typed objects, with one cached decoder per model."""

from functools import cache
from typing import Any, Final, Generic

import msgspec

from apiserver.kube.port import Page, T
from apiserver.kube.resources import Resource

# The exceptions that msgspec raises for bytes that are not JSON, of another type, not UTF-8, or
# nested too deep.
DECODE_ERRORS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class ListMeta(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The metadata of a list: its version and the token of the next page."""

    resource_version: str = ""
    continue_token: str = msgspec.field(name="continue", default="")
    remaining_item_count: int | None = None


class ObjectList(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """The body of a list response."""

    items: tuple[T, ...]
    metadata: ListMeta = ListMeta()


class WatchEvent(msgspec.Struct, frozen=True):
    """One line of a watch; the type says how to decode its object."""

    type: str
    object: msgspec.Raw


_EVENT_DECODER: Final = msgspec.json.Decoder(WatchEvent)


def decode_object(resource: Resource[T], body: bytes | msgspec.Raw) -> T:
    """Decode one object."""
    decoded: T = _object_decoder(resource.model).decode(body)
    return decoded


def decode_page(resource: Resource[T], body: bytes) -> Page[T]:
    """Decode one page of a list."""
    decoded: ObjectList[T] = _list_decoder(resource.model).decode(body)
    meta = decoded.metadata
    return Page(
        decoded.items, meta.continue_token, meta.remaining_item_count, meta.resource_version
    )


def decode_event(line: bytes) -> WatchEvent:
    """Decode one line of a watch."""
    return _EVENT_DECODER.decode(line)


@cache
def _object_decoder(model: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(model)


@cache
def _list_decoder(model: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(ObjectList[model])
