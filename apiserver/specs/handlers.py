"""The route of the spec catalogue."""

from typing import Final

from aiohttp import web

from apiserver.http import failure_examples, keys, responses
from apiserver.http.openapi import ResponseDoc, documented
from apiserver.http.query import require_no_query
from apiserver.specs import examples
from apiserver.specs.schemas import SpecListAnswerSchema, SpecViewSchema
from apiserver.specs.service import SpecService

SPECS: Final = web.AppKey("specs", SpecService)


@documented(
    "specs",
    "List the specs of the catalogue, with the stock of each spec",
    ResponseDoc(200, "All specs.", SpecListAnswerSchema, examples.SPECS),
    failure_examples.BAD_QUERY,
    *failure_examples.CLUSTER_FAILURES,
)
async def list_specs(request: web.Request) -> web.Response:
    """Return the catalogue."""
    service = keys.required_service(request, SPECS)
    require_no_query(request)
    return responses.page(SpecViewSchema(many=True).dump(await service.list()), {})
