"""The OpenAPI document, built from the documentation attached to handlers."""

import copy
import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from aiohttp import hdrs, web
from aiohttp_apispec import AiohttpApiSpec, docs, json_schema, querystring_schema
from marshmallow import Schema

from apiserver.errors import ForbiddenError, ServiceError, UnauthorizedError
from apiserver.http.auth import BEARER_CHALLENGE, required_role
from apiserver.http.request_id import REQUEST_ID_HEADER
from apiserver.schemas.response import FailureSchema

H = TypeVar("H", bound=Callable[..., object])

_APISPEC_ATTRIBUTE: Final = "__apispec__"
_HEADER_DESCRIPTIONS: Final = {
    REQUEST_ID_HEADER: "The id of the request in the log; a caller can send its own.",
    hdrs.ETAG: "The revision of the object, for If-Match; status changes do not change it.",
    hdrs.LOCATION: "The path of the resource.",
    hdrs.RETRY_AFTER: "The seconds to wait before a retry.",
    hdrs.WWW_AUTHENTICATE: "The required authentication scheme.",
}
_IF_MATCH_PARAMETER: Final = {
    "in": "header",
    "name": hdrs.IF_MATCH,
    "type": "string",
    "description": "Process the request only if the object has one of these ETags.",
}
_JSON: Final = "application/json"
# Swagger 2.0 has no bearer scheme, so the header is described instead.
_TOKEN_SECURITY: Final = {
    "token": {
        "type": "apiKey",
        "in": "header",
        "name": hdrs.AUTHORIZATION,
        "description": "`Bearer` and a token; required if `auth.tokensFile` is configured.",
    }
}


@dataclass(frozen=True, slots=True)
class ResponseDoc:
    """One documented response of a route; without an example it has no body."""

    status: int
    description: str
    schema: type[Schema] | None = None
    example: object = None
    headers: tuple[str, ...] = ()
    media_type: str = _JSON


@dataclass(frozen=True, slots=True)
class JsonBodyDoc:
    """The JSON body of a request, with an example that is valid."""

    schema: Schema
    example: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class RawBodyDoc:
    """A body that is accepted without parsing."""

    media_types: tuple[str, ...]

    def as_parameter(self) -> dict[str, object]:
        """Return the parameter object of the document."""
        schema = {"type": "string", "format": "binary"}
        return {"in": "body", "name": "body", "required": False, "schema": schema}


@dataclass(frozen=True, slots=True)
class PathParameter:
    """A variable part of a path; `constraints` are JSON Schema keywords."""

    name: str
    description: str
    example: str
    constraints: Mapping[str, object]

    def as_parameter(self) -> dict[str, object]:
        """Return the parameter object; its example is prefilled in the form of the page."""
        return {
            "in": "path",
            "name": self.name,
            "required": True,
            "type": "string",
            "description": self.description,
            "x-example": self.example,
            **self.constraints,
        }


def error_doc(error: ServiceError) -> ResponseDoc:
    """Return the documentation of an error response, with the error as its example."""
    return ResponseDoc(
        error.status,
        f"`{error.code}`: {type(error).__doc__}",
        FailureSchema,
        {"error": error.as_json()},
        () if error.retry_after is None else (hdrs.RETRY_AFTER,),
    )


_AUTH_ERROR_DOCS: Final = (
    replace(error_doc(UnauthorizedError(BEARER_CHALLENGE)), headers=(hdrs.WWW_AUTHENTICATE,)),
    error_doc(ForbiddenError("a token with the role operator is required")),
)


def documented(
    tag: str,
    summary: str,
    *responses: ResponseDoc,
    body: JsonBodyDoc | RawBodyDoc | None = None,
    query: Schema | None = None,
    path: PathParameter | tuple[PathParameter, ...] = (),
    conditional: bool = False,
) -> Callable[[H], H]:
    """Return a decorator that attaches documentation to a handler."""
    parts = (path,) if isinstance(path, PathParameter) else path
    parameters = [part.as_parameter() for part in parts]

    def decorate(handler: H) -> H:
        docs(
            tags=[tag],
            summary=summary,
            responses=_responses_by_status(responses),
            parameters=[*parameters, _IF_MATCH_PARAMETER] if conditional else parameters,
            produces=sorted({response.media_type for response in responses}),
        )(handler)
        if isinstance(body, RawBodyDoc):
            docs(parameters=[body.as_parameter()], consumes=list(body.media_types))(handler)
        if isinstance(body, JsonBodyDoc):
            example = dict(body.example)
            json_schema(body.schema, required=True, example=example, add_to_refs=True)(handler)
        if query is not None:
            querystring_schema(query)(handler)
        return handler

    return decorate


def build_openapi(routes: Iterable[web.RouteDef], version: str) -> Mapping[str, object]:
    """Build the document of `routes` as JSON values, without starting an application."""
    stub_app = web.Application()
    for route in routes:
        if hasattr(route.handler, _APISPEC_ATTRIBUTE):
            spec = copy.deepcopy(getattr(route.handler, _APISPEC_ATTRIBUTE))
            secured = spec if required_role(route.path) is None else _with_token_security(spec)
            stub_app.router.add_route(route.method, route.path, _stub_handler(secured))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", web.NotAppKeyWarning)  # of aiohttp-apispec's own keys
        builder = AiohttpApiSpec(
            url=None,
            app=stub_app,
            in_place=True,
            title="GPU Runtime API",
            version=version,
            info={"description": "Creates GPU machines from warm stock in seconds."},
            consumes=[_JSON],
            securityDefinitions=_TOKEN_SECURITY,
        )
    document: Mapping[str, object] = builder.swagger_dict()
    return document


def _responses_by_status(response_docs: Iterable[ResponseDoc]) -> dict[str, dict[str, Any]]:
    """Group responses by status; examples after the first go into the description."""
    responses: dict[str, dict[str, Any]] = {}
    for doc in response_docs:
        first = responses.get(str(doc.status))
        if first is None:
            responses[str(doc.status)] = _response_spec(doc)
        else:
            first["description"] += f" {doc.description}"
            if doc.example is not None:
                first["description"] += f" Example: `{json.dumps(doc.example)}`."
    return responses


def _response_spec(doc: ResponseDoc) -> dict[str, Any]:
    headers = {
        name: {"type": "string", "description": _HEADER_DESCRIPTIONS[name]}
        for name in (REQUEST_ID_HEADER, *doc.headers)
    }
    spec: dict[str, Any] = {"description": doc.description, "headers": headers}
    if doc.example is not None:
        spec["examples"] = {doc.media_type: doc.example}
    return {**spec, "schema": doc.schema} if doc.schema else spec


def _with_token_security(operation_spec: dict[str, Any]) -> dict[str, Any]:
    """Add the token and its error responses to the documentation of a protected route."""
    responses = {**operation_spec["responses"], **_responses_by_status(_AUTH_ERROR_DOCS)}
    return {
        **operation_spec,
        "security": [{name: [] for name in _TOKEN_SECURITY}],
        "responses": responses,
    }


def _stub_handler(operation_spec: Mapping[str, Any]) -> Callable[[web.Request], Any]:
    """Return a handler that only carries documentation, which the spec builder consumes."""

    async def stub(_: web.Request) -> web.StreamResponse:
        raise NotImplementedError

    setattr(stub, _APISPEC_ATTRIBUTE, operation_spec)
    return stub
