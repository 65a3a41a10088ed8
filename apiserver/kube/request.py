"""Kubernetes requests and responses as values, and the functions that build requests."""

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
    """No object can have this name, so no request was sent."""


class UnencodableBodyError(kube_errors.InvalidError):
    """The body cannot be encoded as JSON, so no request was sent."""


@dataclass(frozen=True, slots=True)
class KubeRequest:
    """One request; its str is for messages and shows neither query nor body."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    media_type: str = JSON_MEDIA_TYPE

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class KubeResponse:
    """One response with its Retry-After, in seconds."""

    status: int
    body: bytes
    retry_after: int | None = None

    @property
    def is_success(self) -> bool:
        """Return whether the status code is 2xx."""
        return 200 <= self.status < 300


def get_request(resource: Resource[T], namespace: str, name: str) -> KubeRequest:
    """Build the request that reads one object."""
    return KubeRequest("GET", object_path(resource, namespace, name))


def list_request(resource: Resource[T], namespace: str, options: ListOptions) -> KubeRequest:
    """Build the request for one page; a continue token already fixes the version of the list."""
    cached = {} if options.continue_token or not options.from_cache else cached_list_query(options)
    parameters = {
        "labelSelector": options.label_selector,
        "fieldSelector": options.field_selector,
        "limit": str(options.limit) if options.limit else "",
        "continue": options.continue_token,
        **cached,
    }
    query = {key: value for key, value in parameters.items() if value}
    return KubeRequest("GET", collection_path(resource, namespace), query)


def cached_list_query(options: ListOptions) -> dict[str, str]:
    """Return the query that allows a cached list; with version 0 a server ignores the limit."""
    if options.limit:
        return {"resourceVersion": "1", "resourceVersionMatch": "NotOlderThan"}
    return {"resourceVersion": "0"}


def create_request(resource: Resource[T], namespace: str, body: JsonObject) -> KubeRequest:
    """Build the request that creates an object; only its body must name the type."""
    manifest = {"apiVersion": API_VERSION, "kind": resource.kind, **body}
    return KubeRequest(
        "POST", collection_path(resource, namespace), FIELD_MANAGER_QUERY, encode_body(manifest)
    )


def patch_request(
    resource: Resource[T], namespace: str, name: str, body: JsonObject, subresource: str = ""
) -> KubeRequest:
    """Build the request that merges `body` into an object."""
    path = object_path(resource, namespace, name, subresource)
    return KubeRequest(
        "PATCH", path, FIELD_MANAGER_QUERY, encode_body(body), MERGE_PATCH_MEDIA_TYPE
    )


def delete_request(
    resource: Resource[T], namespace: str, name: str, preconditions: Mapping[str, str]
) -> KubeRequest:
    """Build the request that deletes an object and, in the background, its dependents."""
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
    """Build the request that watches one object."""
    require_valid_names(namespace, name)
    query = {
        "watch": "true",
        "fieldSelector": f"metadata.name={name}",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(WATCH_TIMEOUT_SECONDS),
        "resourceVersion": resource_version,
    }
    return KubeRequest("GET", collection_path(resource, namespace), query)


def object_path(resource: Resource[T], namespace: str, name: str, subresource: str = "") -> str:
    """Return the path of one object; raises InvalidNameError, also for an empty name."""
    path = f"{collection_path(resource, namespace)}/{name}"
    require_valid_names(name)
    return f"{path}/{subresource}" if subresource else path


def collection_path(resource: Resource[T], namespace: str) -> str:
    """Return the path of all objects in one namespace; raises InvalidNameError."""
    require_valid_names(namespace)
    return f"/apis/{API_VERSION}/namespaces/{namespace}/{resource.plural}"


def require_valid_names(*names: str) -> None:
    """Raise InvalidNameError for an invalid name: the server decodes %2F to a slash."""
    for name in names:
        if not is_dns_subdomain(name):
            raise InvalidNameError(f"no such object: {name[:64]!a} is not a valid name.")


def encode_body(body: JsonObject) -> bytes:
    """Encode a body as JSON; raises UnencodableBodyError for a lone surrogate."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError as error:
        message = "the request contains text that is not Unicode"
        raise UnencodableBodyError(f"not sent to Kubernetes: {message}.", message) from error
