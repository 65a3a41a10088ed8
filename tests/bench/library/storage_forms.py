"""Forms in which a store could keep the objects of a list."""

from collections.abc import Callable, Iterator

import msgspec

from controller.runtime.client.interning import Interner
from tests.bench.library.typed_widget import Widget, WidgetMetadata


class ListBody(msgspec.Struct):
    """A list split into its items, so that memory of one item can be reused for the next."""

    items: list[msgspec.Raw]


class PartlyDecoded(msgspec.Struct, frozen=True, gc=False):
    """An object with decoded metadata; the other parts are bytes until they are read."""

    metadata: WidgetMetadata
    spec: msgspec.Raw
    status: msgspec.Raw


DecodeItem = Callable[[msgspec.Raw], Widget | PartlyDecoded]
Store = dict[tuple[str, str], Widget | PartlyDecoded]


def typed_decoder() -> DecodeItem:
    return msgspec.json.Decoder(Widget).decode


def interning_decoder() -> DecodeItem:
    decode, share = msgspec.json.Decoder(Widget).decode, Interner(Widget)

    def decode_and_share(item: msgspec.Raw) -> Widget:
        widget = decode(item)
        share(widget)
        return widget

    return decode_and_share


def partial_decoder() -> DecodeItem:
    decode = msgspec.json.Decoder(PartlyDecoded).decode

    def decode_and_copy(item: msgspec.Raw) -> PartlyDecoded:
        decoded = decode(item)
        return PartlyDecoded(decoded.metadata, decoded.spec.copy(), decoded.status.copy())

    return decode_and_copy


STORAGE_FORMS: dict[str, Callable[[], DecodeItem]] = {
    "typed": typed_decoder,
    "typed, equal parts shared": interning_decoder,
    "metadata typed, other parts bytes": partial_decoder,
}


def fill_store(body: bytes, decode: DecodeItem) -> Store:
    """Return a store as an informer keeps it."""
    return {key_of(value): value for value in decoded_items(body, decode)}


def decoded_items(body: bytes, decode: DecodeItem) -> Iterator[Widget | PartlyDecoded]:
    return map(decode, msgspec.json.decode(body, type=ListBody).items)


def key_of(value: Widget | PartlyDecoded) -> tuple[str, str]:
    return value.metadata.namespace, value.metadata.name
