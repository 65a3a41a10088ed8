"""An outcome as a row of the table."""

from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from shared.invocation.message import OutcomeMessage
from shared.time import ms_to_datetime


class OutcomeRow(NamedTuple):
    """The columns in the order of the table."""

    function_uid: str
    request_id: str
    invocation_id: str
    run: int
    state: str
    attempts: int
    worker: str
    accepted_at: datetime
    started_at: datetime | None
    finished_at: datetime
    result: str


def outcome_row_of(outcome: OutcomeMessage) -> OutcomeRow:
    """Return the row of an outcome; equal outcomes have equal rows."""
    return OutcomeRow(
        function_uid=outcome.function_uid,
        request_id=outcome.function_name,
        invocation_id=outcome.invocation_id,
        run=outcome.run,
        state=outcome.state.value,
        attempts=outcome.attempts,
        worker=replace_nul(outcome.worker),
        accepted_at=ms_to_datetime(outcome.accepted_at),
        started_at=ms_to_datetime(outcome.started_at) if outcome.started_at else None,
        finished_at=ms_to_datetime(outcome.finished_at),
        result=msgspec.json.encode(replace_nul(msgspec.to_builtins(outcome.result))).decode(),
    )


def replace_nul(value: Any) -> Any:
    """Replace NUL characters, which PostgreSQL cannot store."""
    if isinstance(value, str):
        return value.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if isinstance(value, dict):
        return {replace_nul(name): replace_nul(item) for name, item in value.items()}
    return value
