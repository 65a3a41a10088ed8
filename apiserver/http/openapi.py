"""The OpenAPI document: what handlers say of themselves, put together."""

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
from apiserver.http.auth import BEARER_CHALLENGE
from apiserver.http.request_id import REQUEST_ID_HEADER
from apiserver.http.roles import required_role
from apiserver.schemas.response import FailureSchema

H = TypeVar("H", bound=Callable[..., object])

_APISPEC_ATTRIBUTE: Final = "__apispec__"
_HEADER_DESCRIPTIONS: Final = {
    REQUEST_ID_HEADER: "The id of the request in the log; send your own.",
    hdrs.ETAG: "The revision of the object, for If-Match; a change of its status keeps it.",
    hdrs.LOCATION: "Where to look for it.",
    hdrs.RETRY_AFTER: "After how many seconds to try again.",
    hdrs.WWW_AUTHENTICATE: "What kind of token is asked for.",
}
_IF_MATCH_PARAMETER: Final = {
    "in": "header",
    "name": hdrs.IF_MATCH,
    "type": "string",
    "description": "Do it only while the object has one of these ETags.",
}
_JSON: Final = "application/json"
# Swagger 2.0 knows no bearer tokens, so the header is described as it is sent.
_TOKEN_SECURITY: Final = {
    "token": {
        "type": "apiKey",
        "in": "header",
        "name": hdrs.AUTHORIZATION,
        "description": "`Bearer` and a token; only where the API has `auth.tokensFile`.",
    }
}


@dataclass(frozen=True, slots=True)
class ResponseDoc:
    """One documented answer of a route; one without an example has no body."""

    status: int
    description: str
    schema: type[Schema] | None = None
    example: object = None
    headers: tuple[str, ...] = ()
    media_type: str = _JSON


@dataclass(frozen=True, slots=True)
class JsonBodyDoc:
    """What a route reads, with an example that can be sent as it is."""

    schema: Schema
    example: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class RawBodyDoc:
    """A body that is taken as it is."""

    media_types: tuple[str, ...]

    def as_parameter(self) -> dict[str, object]:
        """The parameter as the document has it."""
        schema = {"type": "string", "format": "binary"}
        return {"in": "body", "name": "body", "required": False, "schema": schema}


@dataclass(frozen=True, slots=True)
class PathParameter:
    """The part of a path that names one thing; `rules` are words of JSON Schema."""

    name: str
    description: str
    example: str
    constraints: Mapping[str, object]

    def as_parameter(self) -> dict[str, object]:
        """The parameter as the document has it; its example is put into the page's form."""
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
    """The documented answer of a failure, with itself as the example."""
    return ResponseDoc(
        error.status,
        f"`{error.code}`: {type(error).__doc__}",
        FailureSchema,
        {"error": error.as_json()},
        () if error.retry_after is None else (hdrs.RETRY_AFTER,),
    )


_AUTH_ERROR_DOCS: Final = (
    replace(error_doc(UnauthorizedError(BEARER_CHALLENGE)), headers=(hdrs.WWW_AUTHENTICATE,)),
    error_doc(ForbiddenError("this needs a token of the role operator")),
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
    """Attach documentation to a handler; it is read when the document is made."""
    parts = (path,) if isinstance(path, PathParameter) else path
    parameters = [part.as_parameter() for part in parts]

    def decorate(handler: H) -> H:
        docs(
            tags=[tag],
            summary=summary,
            responses=_responses_by_status(responses),
            parameters=[*parameters, _IF_MATCH_PARAMETER] if conditional else parameters,
            produces=sorted({answer.media_type for answer in responses}),
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
    """The document of `routes` as JSON values; nothing is started."""
    stand_in = web.Application()
    for route in routes:
        if hasattr(route.handler, _APISPEC_ATTRIBUTE):
            said = copy.deepcopy(getattr(route.handler, _APISPEC_ATTRIBUTE))
            guarded = said if required_role(route.path) is None else _with_token_security(said)
            stand_in.router.add_route(route.method, route.path, _stub_handler(guarded))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", web.NotAppKeyWarning)  # aiohttp-apispec's, not ours
        spec = AiohttpApiSpec(
            url=None,
            app=stand_in,
            in_place=True,
            title="GPU Runtime API",
            version=version,
            info={"description": "Hands out GPU machines from warm stock in seconds."},
            consumes=[_JSON],
            securityDefinitions=_TOKEN_SECURITY,
        )
    made: Mapping[str, object] = spec.swagger_dict()
    return made


def _responses_by_status(response_docs: Iterable[ResponseDoc]) -> dict[str, dict[str, Any]]:
    """The answers by status; there is room for one example of each, so others are in the text."""
    responses: dict[str, dict[str, Any]] = {}
    for answer in response_docs:
        known = responses.get(str(answer.status))
        if known is None:
            responses[str(answer.status)] = _response_spec(answer)
        else:
            known["description"] += f" {answer.description}"
            if answer.example is not None:
                known["description"] += f" Such as `{json.dumps(answer.example)}`."
    return responses


def _response_spec(doc: ResponseDoc) -> dict[str, Any]:
    headers = {
        name: {"type": "string", "description": _HEADER_DESCRIPTIONS[name]}
        for name in (REQUEST_ID_HEADER, *doc.headers)
    }
    made: dict[str, Any] = {"description": doc.description, "headers": headers}
    if doc.example is not None:
        made["examples"] = {doc.media_type: doc.example}
    return {**made, "schema": doc.schema} if doc.schema else made


def _with_token_security(operation_spec: dict[str, Any]) -> dict[str, Any]:
    """The documentation of a route that asks for a token where the API has any."""
    responses = {**operation_spec["responses"], **_responses_by_status(_AUTH_ERROR_DOCS)}
    return {
        **operation_spec,
        "security": [{name: [] for name in _TOKEN_SECURITY}],
        "responses": responses,
    }


def _stub_handler(operation_spec: Mapping[str, Any]) -> Callable[[web.Request], Any]:
    """A handler with this documentation, which making the document uses up."""

    async def stand_in(_: web.Request) -> web.StreamResponse:
        raise NotImplementedError

    setattr(stand_in, _APISPEC_ATTRIBUTE, operation_spec)
    return stand_in
