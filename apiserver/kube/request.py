"""Requests to Kubernetes and their answers, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from apiserver.kube import errors as kube_errors
from apiserver.kube.port import JsonObject, ListOptions, T
from apiserver.kube.resources import Resource
from shared.k8s.name_syntax import is_dns_subdomain
from shared.v1alpha1.group import API_VERSION

JSON_MEDIA_TYPE: Final = "application/json"
MERGE_PATCH_MEDIA_TYPE: Final = "application/merge-patch+json"
WATCH_TIMEOUT_SECONDS: Final = 30
FIELD_MANAGER_QUERY: Final = {"fieldManager": "gpu-runtime-api"}


class InvalidNameError(kube_errors.NotFoundError):
    """No object can have this name, so the server was not asked for it."""


class UnencodableBodyError(kube_errors.InvalidError):
    """The body cannot be written as JSON, so it was not sent."""


@dataclass(frozen=True, slots=True)
class KubeRequest:
    """One request; its text is for messages and names neither query nor body."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    media_type: str = JSON_MEDIA_TYPE

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class KubeResponse:
    """What the server said, and when it asks to be asked again."""

    status: int
    body: bytes
    retry_after: int | None = None

    @property
    def is_success(self) -> bool:
        """Whether the server did what was asked."""
        return 200 <= self.status < 300


def get_request(resource: Resource[T], namespace: str, name: str) -> KubeRequest:
    """Read one object."""
    return KubeRequest("GET", object_path(resource, namespace, name))


def list_request(resource: Resource[T], namespace: str, options: ListOptions) -> KubeRequest:
    """Read one page; a token holds the version of its list and takes no other."""
    cached = {} if options.continue_token or not options.from_cache else cached_list_query(options)
    asked = {
        "labelSelector": options.label_selector,
        "fieldSelector": options.field_selector,
        "limit": str(options.limit) if options.limit else "",
        "continue": options.continue_token,
        **cached,
    }
    given = {key: value for key, value in asked.items() if value}
    return KubeRequest("GET", collection_path(resource, namespace), given)


def cached_list_query(options: ListOptions) -> dict[str, str]:
    """Any version; to a list of version 0 the server gives everything, whatever the limit."""
    if options.limit:
        return {"resourceVersion": "1", "resourceVersionMatch": "NotOlderThan"}
    return {"resourceVersion": "0"}


def create_request(resource: Resource[T], namespace: str, body: JsonObject) -> KubeRequest:
    """Make an object; only a creation has to say of what type."""
    typed = {"apiVersion": API_VERSION, "kind": resource.kind, **body}
    return KubeRequest(
        "POST", collection_path(resource, namespace), FIELD_MANAGER_QUERY, encode_body(typed)
    )


def patch_request(
    resource: Resource[T], namespace: str, name: str, body: JsonObject, subresource: str = ""
) -> KubeRequest:
    """Merge `body` into an object."""
    path = object_path(resource, namespace, name, subresource)
    return KubeRequest(
        "PATCH", path, FIELD_MANAGER_QUERY, encode_body(body), MERGE_PATCH_MEDIA_TYPE
    )


def delete_request(
    resource: Resource[T], namespace: str, name: str, preconditions: Mapping[str, str]
) -> KubeRequest:
    """Remove an object, and its children after it."""
    options = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Background",
        "preconditions": {key: value for key, value in preconditions.items() if value},
    }
    return KubeRequest("DELETE", object_path(resource, namespace, name), body=encode_body(options))


def watch_request(
    resource: Resource[T], namespace: str, name: str, resource_version: str
) -> KubeRequest:
    """Follow one object for a while."""
    require_valid_names(namespace, name)
    asked = {
        "watch": "true",
        "fieldSelector": f"metadata.name={name}",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(WATCH_TIMEOUT_SECONDS),
        "resourceVersion": resource_version,
    }
    return KubeRequest("GET", collection_path(resource, namespace), asked)


def object_path(resource: Resource[T], namespace: str, name: str, subresource: str = "") -> str:
    """The path of one object; without its name it would be that of all of them."""
    require_valid_names(namespace, name)
    return resource.path(namespace, name, subresource)


def collection_path(resource: Resource[T], namespace: str) -> str:
    """The path of all objects in one namespace."""
    require_valid_names(namespace)
    return resource.path(namespace)


def require_valid_names(*names: str) -> None:
    """No object has another name; the server would take a quoted slash for a slash."""
    for name in names:
        if not is_dns_subdomain(name):
            raise InvalidNameError(f"there is nothing named {name[:64]!a} in Kubernetes.")


def encode_body(body: JsonObject) -> bytes:
    """The body as JSON; half of a surrogate pair has no place in it."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError as error:
        message = "the request has text that is not Unicode"
        raise UnencodableBodyError(f"not sent to Kubernetes: {message}.", message) from error
