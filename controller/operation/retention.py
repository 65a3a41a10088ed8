"""How long records stay, and what is dropped of them before: decided from the record alone."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from shared.v1alpha1.operation import Operation
from shared.v1alpha1.phases import OperationPhase

FINAL: Final = (OperationPhase.SUCCEEDED, OperationPhase.FAILED)


@dataclass(frozen=True, slots=True)
class Step:
    """What to do with a record now, and in how many seconds to look at it again."""

    delete: bool = False
    drop_request: bool = False
    look_after: float | None = None


def step(record: Operation, retention: float, now: datetime) -> Step:
    """Nothing before it is final; then the request goes on success, and in the end the record."""
    since = final_since(record)
    if since is None:
        return Step()
    left = retention - (now - since).total_seconds()
    if left <= 0:
        return Step(delete=True)
    is_done = record.status.phase == OperationPhase.SUCCEEDED  # a failed one may be restarted
    return Step(drop_request=is_done and record.spec.request is not None, look_after=left)


def final_since(record: Operation) -> datetime | None:
    """When it became final, or the nearest moment that is readable; None while it is not final."""
    if record.status.phase not in FINAL:
        return None
    told = (
        record.status.finished_at,
        record.status.updated_at,
        record.metadata.creation_timestamp,
    )
    return next((moment for text in told if (moment := read(text)) is not None), None)


def read(text: str) -> datetime | None:
    """A moment as Kubernetes writes it; None for anything else."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None
