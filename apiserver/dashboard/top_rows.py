"""The most important rows of a long list on the dashboard."""

from collections.abc import Callable, Iterable
from typing import Final, Generic, TypeVar

import msgspec

from apiserver.kube.resources import KubeObject
from shared.k8s.meta import Condition
from shared.v1alpha1.reasons import ConditionType

MAX_ROWS: Final = 200
MAX_MESSAGE_LENGTH: Final = 240


T = TypeVar("T", bound=KubeObject)
R = TypeVar("R")


class DashboardRow(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One row of the dashboard; empty fields are left out."""


class TopRows(msgspec.Struct, Generic[R], frozen=True, kw_only=True):
    """Rows, and how many more there are."""

    rows: tuple[R, ...] = ()
    more: int = 0


def top_rows(
    objects: Iterable[T],
    rank: Callable[[T], int],
    to_row: Callable[[T], R],
    limit: int = MAX_ROWS,
) -> TopRows[R]:
    """Return the first objects by rank, else in the given order; only these become rows."""
    ranked = sorted(objects, key=rank)
    rows = tuple(map(to_row, ranked[:limit]))
    return TopRows(rows=rows, more=len(ranked) - len(rows))


def newest_first(objects: Iterable[T]) -> list[T]:
    """Sort by creation time, newest first."""
    return sorted(objects, key=lambda item: (item.metadata.creation_timestamp, item.metadata.name))[
        ::-1
    ]


def sorted_by_name(objects: Iterable[T]) -> list[T]:
    """Sort by name."""
    return sorted(objects, key=lambda item: item.metadata.name)


def ready_reason_and_message(conditions: Iterable[Condition]) -> tuple[str, str]:
    """Return the reason and the message of the Ready condition; empty without one."""
    ready = next((item for item in conditions if item.type == ConditionType.READY), None)
    return (ready.reason, truncate_message(ready.message)) if ready else ("", "")


def truncate_message(message: str) -> str:
    """Truncate a message to at most MAX_MESSAGE_LENGTH characters."""
    if len(message) <= MAX_MESSAGE_LENGTH:
        return message
    return f"{message[: MAX_MESSAGE_LENGTH - 1]}…"
