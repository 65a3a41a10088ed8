"""The routes of jobs."""

from typing import Final

from aiohttp import hdrs, web

from apiserver.http import failure_examples, keys, responses
from apiserver.http.openapi import ResponseDoc, documented
from apiserver.http.path_parameters import OPERATION_ID_PARAMETER, path_operation_id
from apiserver.http.query import read_query, require_no_query
from apiserver.operations import examples
from apiserver.operations.schemas import (
    JobAnswerSchema,
    JobListAnswerSchema,
    JobsQuerySchema,
    JobViewSchema,
)
from apiserver.operations.service import JobService
from apiserver.schemas.response import PageMetaSchema
from shared.etag import make_etag

JOBS: Final = web.AppKey("jobs", JobService)

_TAG: Final = "jobs"


@documented(
    _TAG,
    "List jobs, with what was requested and whether it is persisted",
    ResponseDoc(200, "One page of the list.", JobListAnswerSchema, examples.JOBS),
    failure_examples.BAD_QUERY,
    failure_examples.CONTINUE_EXPIRED,
    *failure_examples.CLUSTER_FAILURES,
    query=JobsQuerySchema(),
)
async def list_jobs(request: web.Request) -> web.Response:
    """Return one page of the jobs."""
    service, query = (
        keys.required_service(request, JOBS),
        read_query(request, JobsQuerySchema()),
    )
    page = await service.list(query.type, query.phase, query.limit, query.continue_token)
    return responses.page(JobViewSchema(many=True).dump(page.items), PageMetaSchema().dump(page))


@documented(
    _TAG,
    "Show one job",
    ResponseDoc(
        200,
        "The job; `succeeded` means that the objects are persisted, not that they are ready.",
        JobAnswerSchema,
        examples.JOB,
        (hdrs.ETAG,),
    ),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    *failure_examples.CLUSTER_FAILURES,
    path=OPERATION_ID_PARAMETER,
)
async def get_job(request: web.Request) -> web.Response:
    """Return a job."""
    service, operation_id = keys.required_service(request, JOBS), path_operation_id(request)
    require_no_query(request)
    job = await service.get(operation_id)
    return responses.success(
        JobViewSchema().dump(job), headers={hdrs.ETAG: make_etag(job.metadata)}
    )
