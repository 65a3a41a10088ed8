"""The rules of the API server that operations depend on, without a network.

Names are unique, uids are never reused, every write creates a new version, preconditions hold.
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

# The metadata that a write cannot change.
IMMUTABLE_METADATA = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "generation",
    "resourceVersion",
)


class ModelServer:
    """All objects as documents; each call is atomic.

    `lag` returns by how many writes the server's cache lags.
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
        """Return the version of the latest write."""
        return str(self._version)

    def get(self, resource: Resource[Any], namespace: str, name: str) -> Document:
        document = self.objects.get((resource.plural, namespace, name))
        if document is None:
            raise kube_errors.NotFoundError(f"{resource.plural} {name} not found")
        return document

    def list(
        self, resource: Resource[Any], namespace: str, selection: ListOptions
    ) -> list[Document]:
        objects = self._cached_objects() if selection.from_cache else self.objects
        paths = sorted(path for path in objects if path[:2] == (resource.plural, namespace))
        return [objects[path] for path in paths if matches(objects[path], selection)]

    def create(self, resource: Resource[Any], namespace: str, body: JsonObject) -> Document:
        """Create an object without its status, as the server does where status is a subresource."""
        document = copy.deepcopy({name: part for name, part in body.items() if name != "status"})
        name = document["metadata"]["name"]
        if (resource.plural, namespace, name) in self.objects:
            raise kube_errors.AlreadyExistsError(f"{resource.plural} {name} already exists")
        self._uids += 1
        document["metadata"] = without_empty_fields(document["metadata"]) | {
            "namespace": namespace,
            "uid": f"uid-{self._uids}",
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        }
        return self._store(resource, document)

    def patch(
        self, resource: Resource[Any], namespace: str, name: str, body: JsonObject, subresource: str
    ) -> Document:
        """Apply a merge patch to an object without its status, or to its status alone."""
        old = self.get(resource, namespace, name)
        preconditions = dict(body.get("metadata", {}))
        if subresource:
            preconditions.pop("uid", None)  # a status patch takes its metadata from the old object
        require_preconditions(old, preconditions)
        sections = ("status",) if subresource else ("metadata", "spec")
        new = copy.deepcopy(old)
        for section in sections:
            if section in body:
                new[section] = apply_merge_patch(new.get(section, {}), body[section])
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
        document = self.get(resource, namespace, name)
        require_preconditions(document, {"uid": uid, "resourceVersion": version})
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
    """Raise ConflictError if the write is meant for another object or another version."""
    for name in ("uid", "resourceVersion"):
        if preconditions.get(name) and preconditions[name] != document["metadata"][name]:
            raise kube_errors.ConflictError(
                f"{name} is {document['metadata'][name]}, not {preconditions[name]}"
            )


def without_empty_fields(metadata: Document) -> Document:
    """Return metadata as the server stores it: without empty maps and lists."""
    return {name: value for name, value in metadata.items() if value not in ({}, [])}


def apply_merge_patch(old: Any, patch: Any) -> Any:
    """Apply a JSON merge patch (RFC 7386)."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    result = dict(old) if isinstance(old, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = apply_merge_patch(result.get(name), value)
    return result
