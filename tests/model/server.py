"""The rules of the API server that our operations stand on, without a network.

Names are unique, uids are never used again, every write makes a new version, preconditions hold.
`tests/kube/api/test_model.py` runs the same calls against a real server.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Any

from apiserver.kube import errors as kube_errors
from apiserver.kube.port import Body, Selection
from apiserver.kube.resources import Resource
from tests.model.selectors import matches

Document = dict[str, Any]
Place = tuple[str, str, str]

# What a write of an object cannot change.
FIXED = ("name", "namespace", "uid", "creationTimestamp", "generation", "resourceVersion")


class ModelServer:
    """All objects as documents; each call is one moment.

    `lag` says by how many writes what the server has at hand is old.
    """

    def __init__(self, lag: Callable[[], int] = lambda: 0) -> None:
        self.objects: dict[Place, Document] = {}
        self._lag = lag
        self._past: list[dict[Place, Document]] = [{}]
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
            raise kube_errors.AbsentError(f"{resource.plural} {name} not found")
        return found

    def list(self, resource: Resource[Any], namespace: str, selection: Selection) -> list[Document]:
        seen = self._at_hand() if selection.cached else self.objects
        places = sorted(place for place in seen if place[:2] == (resource.plural, namespace))
        return [seen[each] for each in places if matches(seen[each], selection)]

    def create(self, resource: Resource[Any], namespace: str, body: Body) -> Document:
        """Status is dropped, as the server does for resources with a status subresource."""
        made = copy.deepcopy({name: part for name, part in body.items() if name != "status"})
        name = made["metadata"]["name"]
        if (resource.plural, namespace, name) in self.objects:
            raise kube_errors.TakenError(f"{resource.plural} {name} already exists")
        self._uids += 1
        made["metadata"] = without_empties(made["metadata"]) | {
            "namespace": namespace,
            "uid": f"uid-{self._uids}",
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        }
        return self._store(resource, made)

    def patch(
        self, resource: Resource[Any], namespace: str, name: str, body: Body, subresource: str
    ) -> Document:
        """A merge patch of the object without its status, or of its status alone."""
        old = self.get(resource, namespace, name)
        condition = dict(body.get("metadata", {}))
        if subresource:
            condition.pop("uid", None)  # a write of a status takes its metadata from the old object
        require(old, condition)
        part = ("status",) if subresource else ("metadata", "spec")
        new = copy.deepcopy(old)
        for each in part:
            if each in body:
                new[each] = merged(new.get(each, {}), body[each])
        new["metadata"] |= {name: old["metadata"][name] for name in FIXED}
        new["metadata"] = without_empties(new["metadata"])
        if new == old:
            return old
        if new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] += 1
        return self._store(resource, new)

    def delete(
        self, resource: Resource[Any], namespace: str, name: str, uid: str, version: str
    ) -> None:
        found = self.get(resource, namespace, name)
        require(found, {"uid": uid, "resourceVersion": version})
        self._version += 1
        self.deleted.append(self.objects.pop((resource.plural, namespace, name)))
        self._past.append(dict(self.objects))

    def _store(self, resource: Resource[Any], document: Document) -> Document:
        self._version += 1
        meta = document["metadata"]
        meta["resourceVersion"] = str(self._version)
        self.objects[resource.plural, meta["namespace"], meta["name"]] = document
        self._past.append(dict(self.objects))
        return document

    def _at_hand(self) -> dict[Place, Document]:
        return self._past[max(0, len(self._past) - 1 - self._lag())]


def require(found: Document, condition: Mapping[str, Any]) -> None:
    """Refuse a write that was meant for another object, or for another version of it."""
    for name in ("uid", "resourceVersion"):
        if condition.get(name) and condition[name] != found["metadata"][name]:
            raise kube_errors.StaleError(
                f"{name} is {found['metadata'][name]}, not {condition[name]}"
            )


def without_empties(metadata: Document) -> Document:
    """Metadata as the server keeps it: no labels are the same as an empty map of them."""
    return {name: value for name, value in metadata.items() if value not in ({}, [])}


def merged(old: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    result = dict(old) if isinstance(old, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result
