"""Kinds: the API paths of a kind, and the model of its objects."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from controller.runtime.client.objects import Object
from controller.runtime.key import ObjectKey

T = TypeVar("T", bound=Object)


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """One kind, such as Kind("apps", "v1", "deployments", "Deployment", Deployment)."""

    group: str
    version: str
    plural: str
    name: str
    model: type[T]
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def collection_path(self, namespace: str = "") -> str:
        """Return the path of all objects, or of those in one namespace."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        return (
            f"{root}/namespaces/{namespace}/{self.plural}" if namespace else f"{root}/{self.plural}"
        )

    def object_path(self, key: ObjectKey, subresource: str = "") -> str:
        """Return the path of one object or of its subresource."""
        path = f"{self.collection_path(key.namespace)}/{key.name}"
        return f"{path}/{subresource}" if subresource else path

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


def key_of(subject: Object) -> ObjectKey:
    """Return the key of an object."""
    return ObjectKey(subject.metadata.namespace, subject.metadata.name)
