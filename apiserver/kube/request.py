"""Requests to Kubernetes and their answers, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from apiserver.kube import errors as kube_errors
from apiserver.kube.port import Body, Selection, T
from apiserver.kube.resources import Resource
from shared.k8s.name_syntax import is_subdomain
from shared.v1alpha1.group import API_VERSION

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
WATCH_SECONDS: Final = 30
MANAGED: Final = {"fieldManager": "gpu-runtime-api"}


class NoSuchNameError(kube_errors.AbsentError):
    """No object can have this name, so the server was not asked for it."""


class UnencodableError(kube_errors.RejectedError):
    """The body cannot be written as JSON, so it was not sent."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request; its text is for messages and names neither query nor body."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    media_type: str = JSON

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said, and when it asks to be asked again."""

    status: int
    body: bytes
    retry_after: int | None = None

    @property
    def is_success(self) -> bool:
        """Whether the server did what was asked."""
        return 200 <= self.status < 300


def get(resource: Resource[T], namespace: str, name: str) -> Call:
    """Read one object."""
    return Call("GET", object_path(resource, namespace, name))


def listing(resource: Resource[T], namespace: str, selection: Selection) -> Call:
    """Read one page; a token holds the version of its list and takes no other."""
    cached = {} if selection.token or not selection.cached else at_hand(selection)
    asked = {
        "labelSelector": selection.labels,
        "fieldSelector": selection.fields,
        "limit": str(selection.limit) if selection.limit else "",
        "continue": selection.token,
        **cached,
    }
    given = {key: value for key, value in asked.items() if value}
    return Call("GET", collection_path(resource, namespace), given)


def at_hand(selection: Selection) -> dict[str, str]:
    """Any version; to a list of version 0 the server gives everything, whatever the limit."""
    if selection.limit:
        return {"resourceVersion": "1", "resourceVersionMatch": "NotOlderThan"}
    return {"resourceVersion": "0"}


def create(resource: Resource[T], namespace: str, body: Body) -> Call:
    """Make an object; only a creation has to say of what type."""
    typed = {"apiVersion": API_VERSION, "kind": resource.kind, **body}
    return Call("POST", collection_path(resource, namespace), MANAGED, encoded(typed))


def patch(
    resource: Resource[T], namespace: str, name: str, body: Body, subresource: str = ""
) -> Call:
    """Merge `body` into an object."""
    path = object_path(resource, namespace, name, subresource)
    return Call("PATCH", path, MANAGED, encoded(body), MERGE_PATCH)


def delete(resource: Resource[T], namespace: str, name: str, conditions: Mapping[str, str]) -> Call:
    """Remove an object, and its children after it."""
    options = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Background",
        "preconditions": {key: value for key, value in conditions.items() if value},
    }
    return Call("DELETE", object_path(resource, namespace, name), body=encoded(options))


def watch(resource: Resource[T], namespace: str, name: str, version: str) -> Call:
    """Follow one object for a while."""
    require_names(namespace, name)
    asked = {
        "watch": "true",
        "fieldSelector": f"metadata.name={name}",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(WATCH_SECONDS),
        "resourceVersion": version,
    }
    return Call("GET", collection_path(resource, namespace), asked)


def object_path(resource: Resource[T], namespace: str, name: str, subresource: str = "") -> str:
    """The path of one object; without its name it would be that of all of them."""
    require_names(namespace, name)
    return resource.path(namespace, name, subresource)


def collection_path(resource: Resource[T], namespace: str) -> str:
    """The path of all objects in one namespace."""
    require_names(namespace)
    return resource.path(namespace)


def require_names(*names: str) -> None:
    """No object has another name; the server would take a quoted slash for a slash."""
    for name in names:
        if not is_subdomain(name):
            raise NoSuchNameError(f"there is nothing named {name[:64]!a} in Kubernetes.")


def encoded(body: Body) -> bytes:
    """The body as JSON; half of a surrogate pair has no place in it."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError as error:
        message = "the request has text that is not Unicode"
        raise UnencodableError(f"not sent to Kubernetes: {message}.", message) from error
