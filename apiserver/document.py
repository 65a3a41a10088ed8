"""The OpenAPI document: what handlers say of themselves, put together."""

import copy
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from aiohttp import web
from aiohttp_apispec import AiohttpApiSpec, docs
from marshmallow import Schema

from apiserver.errors import ServiceError
from apiserver.request_id import HEADER
from apiserver.schemas.answers import FailureSchema

H = TypeVar("H", bound=Callable[..., object])

_ATTRIBUTE: Final = "__apispec__"
_HEADERS: Final = {
    HEADER: {"type": "string", "description": "The id of the request in the log; send your own."}
}


@dataclass(frozen=True, slots=True)
class Answer:
    """One documented answer of a route."""

    status: int
    description: str
    schema: type[Schema]
    example: object


def failed(error: ServiceError) -> Answer:
    """The documented answer of a failure, with itself as the example."""
    return Answer(
        error.status, type(error).__doc__ or "", FailureSchema, {"error": error.as_json()}
    )


def documented(tag: str, summary: str, *answers: Answer) -> Callable[[H], H]:
    """Attach documentation to a handler; it is read when the document is made."""
    responses = {str(answer.status): _response(answer) for answer in answers}
    decorate: Callable[[H], H] = docs(tags=[tag], summary=summary, responses=responses)
    return decorate


def document(routes: Iterable[web.RouteDef], version: str) -> Mapping[str, object]:
    """The document of `routes` as JSON values; nothing is started."""
    stand_in = web.Application()
    for route in routes:
        if hasattr(route.handler, _ATTRIBUTE):
            stand_in.router.add_route(route.method, route.path, _undisturbed(route.handler))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", web.NotAppKeyWarning)  # aiohttp-apispec's, not ours
        spec = AiohttpApiSpec(
            url=None,
            app=stand_in,
            in_place=True,
            title="GPU Runtime API",
            version=version,
            info={"description": "Hands out GPU machines from warm stock in seconds."},
        )
    made: Mapping[str, object] = spec.swagger_dict()
    return made


def _response(answer: Answer) -> dict[str, Any]:
    return {
        "description": answer.description,
        "schema": answer.schema,
        "headers": _HEADERS,
        "examples": {"application/json": answer.example},
    }


def _undisturbed(handler: Any) -> Callable[[web.Request], Any]:
    """A handler with a copy of the documentation: making the document uses it up."""

    async def stand_in(_: web.Request) -> web.StreamResponse:
        raise NotImplementedError

    setattr(stand_in, _ATTRIBUTE, copy.deepcopy(getattr(handler, _ATTRIBUTE)))
    return stand_in
