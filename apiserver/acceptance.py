"""How the outcome of an operation is answered."""

from typing import Final

from aiohttp import hdrs, web
from marshmallow import Schema

from apiserver import envelope, places
from apiserver.accepted import Accepted, DeletedObject, Outcome
from apiserver.schemas.answers import DeletedSchema
from apiserver.schemas.jobs import JobViewSchema
from shared.v1alpha1.operation import Operation

_STATUS: Final = {Outcome.NEW: 201, Outcome.REPLAY: 200, Outcome.UNFINISHED: 202}


def made(accepted: Accepted[object], view: Schema, place: str) -> web.Response:
    """Answer with what an operation made and its place, or with the job while it is unfinished."""
    status = _STATUS[accepted.outcome]
    match accepted.value:
        case Operation() as record:
            return job(record, status)
        case DeletedObject() as gone:
            return envelope.success(DeletedSchema().dump(gone), status=status)
        case value:
            headers = {hdrs.LOCATION: place}
            return envelope.success(view.dump(value), status=status, headers=headers)


def started(accepted: Accepted[Operation]) -> web.Response:
    """Answer with a job that goes on after the answer."""
    return job(accepted.value, 200 if accepted.outcome is Outcome.REPLAY else 202)


def job(record: Operation, status: int) -> web.Response:
    """Answer with a job and its place."""
    headers = {hdrs.LOCATION: places.job(record.spec.operation_id)}
    return envelope.success(JobViewSchema().dump(record), status=status, headers=headers)
