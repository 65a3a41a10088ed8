"""The route of the spec catalogue."""

from aiohttp import web

from apiserver.http import failure_examples, keys, responses
from apiserver.http.openapi import Answer, documented
from apiserver.http.query import require_known
from apiserver.specs import examples
from apiserver.specs.schemas import SpecListAnswerSchema, SpecViewSchema


@documented(
    "specs",
    "List the catalogued machine specs and what there is of each",
    Answer(200, "Every spec.", SpecListAnswerSchema, examples.SPECS),
    failure_examples.BAD_QUERY,
    *failure_examples.CLUSTER,
)
async def index(request: web.Request) -> web.Response:
    """Show the catalogue."""
    service = keys.service(request, keys.SPECS)
    require_known(request)
    return responses.page(SpecViewSchema(many=True).dump(await service.list()), {})
