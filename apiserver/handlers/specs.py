"""The route of the spec catalogue."""

from aiohttp import web

from apiserver import envelope, keys
from apiserver.document import Answer, documented
from apiserver.examples import failures, specs
from apiserver.query import require_known
from apiserver.schemas.specs import SpecListAnswerSchema, SpecViewSchema


@documented(
    "specs",
    "List the catalogued machine specs and what there is of each",
    Answer(200, "Every spec.", SpecListAnswerSchema, specs.SPECS),
    failures.BAD_QUERY,
    *failures.CLUSTER,
)
async def index(request: web.Request) -> web.Response:
    """Show the catalogue."""
    service = keys.service(request, keys.SPECS)
    require_known(request)
    return envelope.page(SpecViewSchema(many=True).dump(await service.list()), {})
