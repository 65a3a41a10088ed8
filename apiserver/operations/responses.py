"""How the outcome of an operation is answered."""

from typing import Final

from aiohttp import hdrs, web
from marshmallow import Schema

from apiserver.http import paths, responses
from apiserver.operations.result import Accepted, DeletedObject, Outcome
from apiserver.operations.schemas import JobViewSchema
from apiserver.schemas.response import DeletedSchema
from shared.v1alpha1.operation import Operation

_STATUS: Final = {Outcome.NEW: 201, Outcome.REPLAY: 200, Outcome.UNFINISHED: 202}


def made(accepted: Accepted[object], view: Schema, place: str) -> web.Response:
    """Answer with what an operation made and its place, or with the job while it is unfinished."""
    status = _STATUS[accepted.outcome]
    match accepted.value:
        case Operation() as record:
            return job(record, status)
        case DeletedObject() as gone:
            return responses.success(DeletedSchema().dump(gone), status=status)
        case value:
            headers = {hdrs.LOCATION: place}
            return responses.success(view.dump(value), status=status, headers=headers)


def started(accepted: Accepted[Operation]) -> web.Response:
    """Answer with a job that goes on after the answer."""
    return job(accepted.value, 200 if accepted.outcome is Outcome.REPLAY else 202)


def job(record: Operation, status: int) -> web.Response:
    """Answer with a job and its place."""
    headers = {hdrs.LOCATION: paths.job(record.spec.operation_id)}
    return responses.success(JobViewSchema().dump(record), status=status, headers=headers)
