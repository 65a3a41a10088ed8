"""Schema parts that fields of our custom resources share, for `Annotated`."""

from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta

from shared.k8s.meta import Condition
from shared.k8s.quantity import MAX_TEXT_LENGTH, UNSIGNED_PATTERN

QuantityText = Annotated[str, Meta(max_length=MAX_TEXT_LENGTH, pattern=UNSIGNED_PATTERN)]
Timestamp = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
SpecName = Annotated[
    str,
    Meta(min_length=1, max_length=63, pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$"),
]
ObservedGeneration = Annotated[
    int, Meta(description="The generation of the spec that this status describes.", ge=0)
]
ConditionList = Annotated[
    tuple[Condition, ...],
    Meta(description="The conditions of the object, one for each type."),
]


def zero_default() -> dict[str, Any]:
    """Return the default 0 for a count in a printer column; without it kubectl shows nothing."""
    return {"default": 0}


def enum_schema(values: type[StrEnum]) -> dict[str, Any]:
    """Return a schema that allows only `values`; a reader still accepts values of newer writers."""
    return {"enum": [value.value for value in values]}
