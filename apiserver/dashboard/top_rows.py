"""The few of many objects that are worth a line on the page."""

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
    """One line of the page; what is empty is left out."""


class TopRows(msgspec.Struct, Generic[R], frozen=True, kw_only=True):
    """Lines, and how many there are besides."""

    rows: tuple[R, ...] = ()
    more: int = 0


def top_rows(
    objects: Iterable[T],
    rank: Callable[[T], int],
    to_row: Callable[[T], R],
    limit: int = MAX_ROWS,
) -> TopRows[R]:
    """Those of the lowest rank first, else in the order given; only they become rows."""
    ranked = sorted(objects, key=rank)
    rows = tuple(map(to_row, ranked[:limit]))
    return TopRows(rows=rows, more=len(ranked) - len(rows))


def newest_first(objects: Iterable[T]) -> list[T]:
    """By the time at which they were made."""
    return sorted(objects, key=lambda each: (each.metadata.creation_timestamp, each.metadata.name))[
        ::-1
    ]


def sorted_by_name(objects: Iterable[T]) -> list[T]:
    """For what is looked for rather than noticed."""
    return sorted(objects, key=lambda each: each.metadata.name)


def ready_reason_and_message(conditions: Iterable[Condition]) -> tuple[str, str]:
    """The reason and the message of readiness, both empty where nobody has said anything."""
    ready = next((each for each in conditions if each.type == ConditionType.READY), None)
    return (ready.reason, truncate_message(ready.message)) if ready else ("", "")


def truncate_message(message: str) -> str:
    """As much of a message as fits a line or two."""
    if len(message) <= MAX_MESSAGE_LENGTH:
        return message
    return f"{message[: MAX_MESSAGE_LENGTH - 1]}…"
