"""The ways in which a store could keep what a list brought."""

from collections.abc import Callable, Iterator

import msgspec

from controller.runtime.client.interning import Sharing
from tests.bench.library.typed_widget import Metadata, Widget


class Body(msgspec.Struct):
    """A list cut into its items, so that what one item leaves over serves the next."""

    items: list[msgspec.Raw]


class Halfway(msgspec.Struct, frozen=True, gc=False):
    """Decoded as far as a store needs it; the rest is bytes until somebody reads it."""

    metadata: Metadata
    spec: msgspec.Raw
    status: msgspec.Raw


Decode = Callable[[msgspec.Raw], Widget | Halfway]
Store = dict[tuple[str, str], Widget | Halfway]


def typed() -> Decode:
    return msgspec.json.Decoder(Widget).decode


def shared() -> Decode:
    decode, share = msgspec.json.Decoder(Widget).decode, Sharing(Widget)

    def decode_and_share(item: msgspec.Raw) -> Widget:
        widget = decode(item)
        share(widget)
        return widget

    return decode_and_share


def halfway() -> Decode:
    decode = msgspec.json.Decoder(Halfway).decode

    def decode_and_copy(item: msgspec.Raw) -> Halfway:
        part = decode(item)
        return Halfway(part.metadata, part.spec.copy(), part.status.copy())

    return decode_and_copy


WAYS: dict[str, Callable[[], Decode]] = {
    "typed": typed,
    "typed, equal parts shared": shared,
    "metadata typed, the rest bytes": halfway,
}


def filled(body: bytes, decode: Decode) -> Store:
    """A store as an informer would keep it."""
    return {key_of(value): value for value in each(body, decode)}


def each(body: bytes, decode: Decode) -> Iterator[Widget | Halfway]:
    return map(decode, msgspec.json.decode(body, type=Body).items)


def key_of(value: Widget | Halfway) -> tuple[str, str]:
    return value.metadata.namespace, value.metadata.name
