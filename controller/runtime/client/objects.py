"""The metadata that the library needs of Kubernetes objects, as protocols and as Structs."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec


class OwnerReferenceLike(Protocol):
    """One owner reference of an object."""

    @property
    def api_version(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def uid(self) -> str: ...
    @property
    def controller(self) -> bool: ...


class ObjectMetaLike(Protocol):
    """The metadata that the library reads; models may have more."""

    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def uid(self) -> str: ...
    @property
    def resource_version(self) -> str: ...
    @property
    def owner_references(self) -> Sequence[OwnerReferenceLike]: ...


class Object(Protocol):
    """An object of any kind."""

    @property
    def metadata(self) -> ObjectMetaLike: ...


class OwnerReference(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An owner reference, for models without one of their own."""

    api_version: str
    kind: str
    name: str
    uid: str = ""
    controller: bool = False


class ObjectMeta(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Metadata without managedFields, for models without one of their own."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None


def is_older_version(version: str, other: str) -> bool:
    """Whether a resourceVersion is certainly older; False for versions that are not numbers.

    The order is defined since Kubernetes 1.35: longer is newer, equal lengths compare as text.
    """
    if not (version.isdecimal() and other.isdecimal()):
        return False
    return (len(version), version) < (len(other), other)
