"""The routes of jobs."""

from typing import Final

from aiohttp import hdrs, web

from apiserver import envelope, keys
from apiserver.document import Answer, documented
from apiserver.examples import failures, jobs
from apiserver.handlers.path_name import OPERATION_ID, path_operation_id
from apiserver.query import read_query, require_known
from apiserver.schemas.answers import PageMetaSchema
from apiserver.schemas.jobs import JobAnswerSchema, JobListAnswerSchema, JobViewSchema
from apiserver.schemas.queries import JobsQuerySchema
from shared.etag import etag

_TAG: Final = "jobs"


@documented(
    _TAG,
    "List jobs: what was asked for, and whether it is persisted",
    Answer(200, "A part of the list.", JobListAnswerSchema, jobs.JOBS),
    failures.BAD_QUERY,
    failures.CONTINUE_EXPIRED,
    *failures.CLUSTER,
    query=JobsQuerySchema(),
)
async def index(request: web.Request) -> web.Response:
    """Show a part of the jobs."""
    service, query = keys.service(request, keys.JOBS), read_query(request, JobsQuerySchema())
    page = await service.list(query.type, query.phase, query.limit, query.token)
    return envelope.page(JobViewSchema(many=True).dump(page.items), PageMetaSchema().dump(page))


@documented(
    _TAG,
    "Show one job",
    Answer(
        200,
        "The job; succeeded is persisted, not ready.",
        JobAnswerSchema,
        jobs.JOB,
        (hdrs.ETAG,),
    ),
    failures.BAD_QUERY,
    failures.NOT_FOUND,
    *failures.CLUSTER,
    path=OPERATION_ID,
)
async def show(request: web.Request) -> web.Response:
    """Show a job."""
    service, operation_id = keys.service(request, keys.JOBS), path_operation_id(request)
    require_known(request)
    job = await service.get(operation_id)
    return envelope.success(JobViewSchema().dump(job), headers={hdrs.ETAG: etag(job.metadata)})
