"""The metadata of Kubernetes objects, limited to the fields that the programs read."""

from typing import Annotated

import msgspec
from msgspec import Meta

# The syntax that the Kubernetes API conventions require of a condition.
_LABEL_PATTERN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_TYPE_PATTERN = (
    rf"^({_LABEL_PATTERN}(\.{_LABEL_PATTERN})*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"
)
_REASON_PATTERN = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"


class OwnerReference(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The owner of an object; Kubernetes deletes an object when all its owners are deleted."""

    api_version: str
    kind: str
    name: str
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Metadata without managedFields."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None


class Condition(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A condition of an object, in the standard form of Kubernetes."""

    type: Annotated[
        str,
        Meta(
            description="The type of the condition, in CamelCase.",
            max_length=316,
            pattern=_TYPE_PATTERN,
        ),
    ]
    status: Annotated[
        str,
        Meta(
            description="The status of the condition: True, False or Unknown.",
            extra_json_schema={"enum": ["True", "False", "Unknown"]},
        ),
    ]
    observed_generation: Annotated[
        int, Meta(description="The generation of the object that was observed.", ge=0)
    ] = 0
    last_transition_time: Annotated[
        str,
        Meta(
            description="When the status last changed.",
            extra_json_schema={"format": "date-time"},
        ),
    ]
    reason: Annotated[
        str,
        Meta(
            description="The reason for the status, in one CamelCase word.",
            min_length=1,
            max_length=1024,
            pattern=_REASON_PATTERN,
        ),
    ]
    message: Annotated[
        str, Meta(description="The explanation of the reason; may be empty.", max_length=32768)
    ]


def is_same_generation(metadata: ObjectMeta, observed: ObjectMeta) -> bool:
    """Return whether an object is the observed one, with the spec that was observed."""
    return (metadata.uid, metadata.generation) == (observed.uid, observed.generation)
