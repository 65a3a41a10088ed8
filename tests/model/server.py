"""The rules of the API server that our operations stand on, without a network.

Names are unique, uids are never used again, every write makes a new version, preconditions hold.
`tests/kube/api/test_model.py` runs the same calls against a real server.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Any

from apiserver.kube import errors as kube_errors
from apiserver.kube.port import JsonObject, ListOptions
from apiserver.kube.resources import Resource
from tests.model.selectors import matches

Document = dict[str, Any]
ObjectPath = tuple[str, str, str]

# What a write of an object cannot change.
IMMUTABLE_METADATA = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "generation",
    "resourceVersion",
)


class ModelServer:
    """All objects as documents; each call is one moment.

    `lag` says by how many writes what the server has at hand is old.
    """

    def __init__(self, lag: Callable[[], int] = lambda: 0) -> None:
        self.objects: dict[ObjectPath, Document] = {}
        self._lag = lag
        self._history: list[dict[ObjectPath, Document]] = [{}]
        self.deleted: list[Document] = []
        self._version = 0
        self._uids = 0

    @property
    def version(self) -> str:
        """That of the latest write."""
        return str(self._version)

    def get(self, resource: Resource[Any], namespace: str, name: str) -> Document:
        found = self.objects.get((resource.plural, namespace, name))
        if found is None:
            raise kube_errors.NotFoundError(f"{resource.plural} {name} not found")
        return found

    def list(
        self, resource: Resource[Any], namespace: str, selection: ListOptions
    ) -> list[Document]:
        seen = self._cached_objects() if selection.from_cache else self.objects
        places = sorted(place for place in seen if place[:2] == (resource.plural, namespace))
        return [seen[each] for each in places if matches(seen[each], selection)]

    def create(self, resource: Resource[Any], namespace: str, body: JsonObject) -> Document:
        """Status is dropped, as the server does for resources with a status subresource."""
        made = copy.deepcopy({name: part for name, part in body.items() if name != "status"})
        name = made["metadata"]["name"]
        if (resource.plural, namespace, name) in self.objects:
            raise kube_errors.AlreadyExistsError(f"{resource.plural} {name} already exists")
        self._uids += 1
        made["metadata"] = without_empty_fields(made["metadata"]) | {
            "namespace": namespace,
            "uid": f"uid-{self._uids}",
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        }
        return self._store(resource, made)

    def patch(
        self, resource: Resource[Any], namespace: str, name: str, body: JsonObject, subresource: str
    ) -> Document:
        """A merge patch of the object without its status, or of its status alone."""
        old = self.get(resource, namespace, name)
        condition = dict(body.get("metadata", {}))
        if subresource:
            condition.pop("uid", None)  # a write of a status takes its metadata from the old object
        require_preconditions(old, condition)
        part = ("status",) if subresource else ("metadata", "spec")
        new = copy.deepcopy(old)
        for each in part:
            if each in body:
                new[each] = apply_merge_patch(new.get(each, {}), body[each])
        new["metadata"] |= {name: old["metadata"][name] for name in IMMUTABLE_METADATA}
        new["metadata"] = without_empty_fields(new["metadata"])
        if new == old:
            return old
        if new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] += 1
        return self._store(resource, new)

    def delete(
        self, resource: Resource[Any], namespace: str, name: str, uid: str, version: str
    ) -> None:
        found = self.get(resource, namespace, name)
        require_preconditions(found, {"uid": uid, "resourceVersion": version})
        self._version += 1
        self.deleted.append(self.objects.pop((resource.plural, namespace, name)))
        self._history.append(dict(self.objects))

    def _store(self, resource: Resource[Any], document: Document) -> Document:
        self._version += 1
        meta = document["metadata"]
        meta["resourceVersion"] = str(self._version)
        self.objects[resource.plural, meta["namespace"], meta["name"]] = document
        self._history.append(dict(self.objects))
        return document

    def _cached_objects(self) -> dict[ObjectPath, Document]:
        return self._history[max(0, len(self._history) - 1 - self._lag())]


def require_preconditions(document: Document, preconditions: Mapping[str, Any]) -> None:
    """Refuse a write that was meant for another object, or for another version of it."""
    for name in ("uid", "resourceVersion"):
        if preconditions.get(name) and preconditions[name] != document["metadata"][name]:
            raise kube_errors.ConflictError(
                f"{name} is {document['metadata'][name]}, not {preconditions[name]}"
            )


def without_empty_fields(metadata: Document) -> Document:
    """Metadata as the server keeps it: no labels are the same as an empty map of them."""
    return {name: value for name, value in metadata.items() if value not in ({}, [])}


def apply_merge_patch(old: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    result = dict(old) if isinstance(old, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = apply_merge_patch(result.get(name), value)
    return result
