"""The request that nearly every caller sends, read at a tenth of what a schema costs."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from apiserver.invocations.fields import MAX_WAIT_SECONDS
from shared.invocation.ids import is_function_name, is_invocation_id


class PlainInvocation(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """A JSON payload for a function, and how to wait for its outcome."""

    invocation_id: str | None = msgspec.field(name="invocationID", default=None)
    function_name: str = msgspec.field(name="serverlessRequestID")
    mode: Literal["async", "sync"] = "async"
    payload: Any
    wait_seconds: Annotated[int, Meta(ge=1, le=MAX_WAIT_SECONDS)] | UnsetType = UNSET


def parse_plain_invocation(raw: object) -> PlainInvocation | None:
    """The request, if it is one; None for any other, and for every mistake: the schema tells it."""
    try:
        found = msgspec.convert(raw, PlainInvocation)
    except msgspec.ValidationError:
        return None
    has_id = "invocationID" in raw if isinstance(raw, dict) else False
    is_named = not has_id or is_invocation_id(found.invocation_id or "")
    return found if is_named and is_function_name(found.function_name) else None
