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
from apiserver.http.auth import BEARER
from apiserver.http.request_id import HEADER
from apiserver.http.roles import role_for
from apiserver.schemas.response import FailureSchema

H = TypeVar("H", bound=Callable[..., object])

_ATTRIBUTE: Final = "__apispec__"
_HEADERS: Final = {
    HEADER: "The id of the request in the log; send your own.",
    hdrs.ETAG: "The revision of the object, for If-Match; a change of its status keeps it.",
    hdrs.LOCATION: "Where to look for it.",
    hdrs.RETRY_AFTER: "After how many seconds to try again.",
    hdrs.WWW_AUTHENTICATE: "What kind of token is asked for.",
}
_IF_MATCH: Final = {
    "in": "header",
    "name": hdrs.IF_MATCH,
    "type": "string",
    "description": "Do it only while the object has one of these ETags.",
}
_JSON: Final = "application/json"
# Swagger 2.0 knows no bearer tokens, so the header is described as it is sent.
_TOKEN: Final = {
    "token": {
        "type": "apiKey",
        "in": "header",
        "name": hdrs.AUTHORIZATION,
        "description": "`Bearer` and a token; only where the API has `auth.tokensFile`.",
    }
}


@dataclass(frozen=True, slots=True)
class Answer:
    """One documented answer of a route; one without an example has no body."""

    status: int
    description: str
    schema: type[Schema] | None = None
    example: object = None
    headers: tuple[str, ...] = ()
    media_type: str = _JSON


@dataclass(frozen=True, slots=True)
class Body:
    """What a route reads, with an example that can be sent as it is."""

    schema: Schema
    example: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class RawBody:
    """A body that is taken as it is."""

    media_types: tuple[str, ...]

    def as_parameter(self) -> dict[str, object]:
        """The parameter as the document has it."""
        schema = {"type": "string", "format": "binary"}
        return {"in": "body", "name": "body", "required": False, "schema": schema}


@dataclass(frozen=True, slots=True)
class InPath:
    """The part of a path that names one thing; `rules` are words of JSON Schema."""

    name: str
    description: str
    example: str
    rules: Mapping[str, object]

    def as_parameter(self) -> dict[str, object]:
        """The parameter as the document has it; its example is put into the page's form."""
        return {
            "in": "path",
            "name": self.name,
            "required": True,
            "type": "string",
            "description": self.description,
            "x-example": self.example,
            **self.rules,
        }


def failed(error: ServiceError) -> Answer:
    """The documented answer of a failure, with itself as the example."""
    return Answer(
        error.status,
        f"`{error.code}`: {type(error).__doc__}",
        FailureSchema,
        {"error": error.as_json()},
        () if error.retry_after is None else (hdrs.RETRY_AFTER,),
    )


_REFUSED: Final = (
    replace(failed(UnauthorizedError(BEARER)), headers=(hdrs.WWW_AUTHENTICATE,)),
    failed(ForbiddenError("this needs a token of the role operator")),
)


def documented(
    tag: str,
    summary: str,
    *answers: Answer,
    body: Body | RawBody | None = None,
    query: Schema | None = None,
    path: InPath | tuple[InPath, ...] = (),
    conditional: bool = False,
) -> Callable[[H], H]:
    """Attach documentation to a handler; it is read when the document is made."""
    parts = (path,) if isinstance(path, InPath) else path
    parameters = [part.as_parameter() for part in parts]

    def decorate(handler: H) -> H:
        docs(
            tags=[tag],
            summary=summary,
            responses=_responses(answers),
            parameters=[*parameters, _IF_MATCH] if conditional else parameters,
            produces=sorted({answer.media_type for answer in answers}),
        )(handler)
        if isinstance(body, RawBody):
            docs(parameters=[body.as_parameter()], consumes=list(body.media_types))(handler)
        if isinstance(body, Body):
            example = dict(body.example)
            json_schema(body.schema, required=True, example=example, add_to_refs=True)(handler)
        if query is not None:
            querystring_schema(query)(handler)
        return handler

    return decorate


def document(routes: Iterable[web.RouteDef], version: str) -> Mapping[str, object]:
    """The document of `routes` as JSON values; nothing is started."""
    stand_in = web.Application()
    for route in routes:
        if hasattr(route.handler, _ATTRIBUTE):
            said = copy.deepcopy(getattr(route.handler, _ATTRIBUTE))
            guarded = said if role_for(route.path) is None else _with_token(said)
            stand_in.router.add_route(route.method, route.path, _saying(guarded))
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
            securityDefinitions=_TOKEN,
        )
    made: Mapping[str, object] = spec.swagger_dict()
    return made


def _responses(answers: Iterable[Answer]) -> dict[str, dict[str, Any]]:
    """The answers by status; there is room for one example of each, so others are in the text."""
    responses: dict[str, dict[str, Any]] = {}
    for answer in answers:
        known = responses.get(str(answer.status))
        if known is None:
            responses[str(answer.status)] = _response(answer)
        else:
            known["description"] += f" {answer.description}"
            if answer.example is not None:
                known["description"] += f" Such as `{json.dumps(answer.example)}`."
    return responses


def _response(answer: Answer) -> dict[str, Any]:
    headers = {
        name: {"type": "string", "description": _HEADERS[name]}
        for name in (HEADER, *answer.headers)
    }
    made: dict[str, Any] = {"description": answer.description, "headers": headers}
    if answer.example is not None:
        made["examples"] = {answer.media_type: answer.example}
    return {**made, "schema": answer.schema} if answer.schema else made


def _with_token(said: dict[str, Any]) -> dict[str, Any]:
    """The documentation of a route that asks for a token where the API has any."""
    responses = {**said["responses"], **_responses(_REFUSED)}
    return {**said, "security": [{name: [] for name in _TOKEN}], "responses": responses}


def _saying(said: Mapping[str, Any]) -> Callable[[web.Request], Any]:
    """A handler with this documentation, which making the document uses up."""

    async def stand_in(_: web.Request) -> web.StreamResponse:
        raise NotImplementedError

    setattr(stand_in, _ATTRIBUTE, said)
    return stand_in
