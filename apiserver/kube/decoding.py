"""Answers of Kubernetes as typed objects; one decoder a model, made once."""

from functools import cache
from typing import Any, Final, Generic

import msgspec

from apiserver.kube.port import Page, T
from apiserver.kube.resources import Resource

# What msgspec raises on bytes that are not JSON, not of the type, not UTF-8, or nested too deep.
UNDECODABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class ListMeta(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a list goes on, and of which version it is."""

    resource_version: str = ""
    token: str = msgspec.field(name="continue", default="")
    remaining_item_count: int | None = None


class Listing(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """The answer to a list."""

    items: tuple[T, ...]
    metadata: ListMeta = ListMeta()


class Event(msgspec.Struct, frozen=True):
    """One line of a watch; what its object is depends on its type."""

    type: str
    object: msgspec.Raw


_EVENTS: Final = msgspec.json.Decoder(Event)


def one(resource: Resource[T], body: bytes | msgspec.Raw) -> T:
    """A single object."""
    found: T = _decoder(resource.model).decode(body)
    return found


def page(resource: Resource[T], body: bytes) -> Page[T]:
    """A list, or a part of one."""
    listed: Listing[T] = _list_decoder(resource.model).decode(body)
    meta = listed.metadata
    return Page(listed.items, meta.token, meta.remaining_item_count, meta.resource_version)


def event(line: bytes) -> Event:
    """One line of a watch."""
    return _EVENTS.decode(line)


@cache
def _decoder(model: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(model)


@cache
def _list_decoder(model: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(Listing[model])
