"""HTTP responses with the result of an operation."""

from typing import Final

from aiohttp import hdrs, web
from marshmallow import Schema

from apiserver.http import paths, responses
from apiserver.operations.result import DeletedObject, OperationResult, ResultKind
from apiserver.operations.schemas import JobViewSchema
from apiserver.schemas.response import DeletedSchema
from shared.v1alpha1.operation import Operation

_HTTP_STATUS: Final = {ResultKind.NEW: 201, ResultKind.REPLAY: 200, ResultKind.UNFINISHED: 202}


def created(result: OperationResult[object], view: Schema, location: str) -> web.Response:
    """Respond with the created object and its Location, or with the job while it is unfinished."""
    status = _HTTP_STATUS[result.kind]
    match result.value:
        case Operation() as operation:
            return job_response(operation, status)
        case DeletedObject() as deleted:
            return responses.success(DeletedSchema().dump(deleted), status=status)
        case value:
            headers = {hdrs.LOCATION: location}
            return responses.success(view.dump(value), status=status, headers=headers)


def accepted(result: OperationResult[Operation]) -> web.Response:
    """Respond with a job that continues after the response."""
    return job_response(result.value, 200 if result.kind is ResultKind.REPLAY else 202)


def job_response(operation: Operation, status: int) -> web.Response:
    """Respond with a job and its Location."""
    headers = {hdrs.LOCATION: paths.job_path(operation.spec.operation_id)}
    return responses.success(JobViewSchema().dump(operation), status=status, headers=headers)
