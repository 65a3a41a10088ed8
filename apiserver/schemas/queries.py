"""How query parameters are written."""

from dataclasses import dataclass
from typing import Any, Final

from marshmallow import validate

from apiserver.commands import ListStorages, ListUnits
from apiserver.operations.schemas import STATUSES, TYPES
from apiserver.schemas.fields import Count, Text, matching
from apiserver.schemas.label_selector import ACCEPTED, is_label_selector
from apiserver.schemas.names import SpecName
from apiserver.schemas.request import C, RequestSchema
from apiserver.serverless_commands import ListFunctions
from shared.v1alpha1.operation import OperationType
from shared.v1alpha1.phases import FunctionPhase, OperationPhase, StoragePhase, UnitPhase

LARGEST_PAGE: Final = 500
PAGE: Final = 100
LONGEST_WAIT: Final = 300
WAIT: Final = 60

_PHASES: Final = [phase.value for phase in UnitPhase]
_STORAGE_PHASES: Final = [phase.value for phase in StoragePhase]
_FUNCTION_PHASES: Final = [phase.value for phase in FunctionPhase]
_LONGEST_SELECTOR: Final = 4096


class QuerySchema(RequestSchema[C]):
    """Parameters are told by other words than fields."""

    what = "parameter"


class LabelSelector(Text):
    """Which labels the objects of a list have."""

    def __init__(self) -> None:
        super().__init__(
            validate=[
                validate.Length(max=_LONGEST_SELECTOR, error="is longer than {max} characters"),
                matching(is_label_selector, f"is not {ACCEPTED}"),
            ],
            metadata={"description": "A Kubernetes label selector."},
        )


class PagedQuerySchema(QuerySchema[C]):
    """The parameters that every list has."""

    limit = Count(
        load_default=PAGE,
        validate=validate.Range(1, LARGEST_PAGE, error="must be from {min} to {max}"),
    )
    token = Text(
        data_key="continue",
        load_default="",
        metadata={"description": "The `meta.continue` of the part before."},
    )


@dataclass(frozen=True, slots=True)
class PageQuery:
    """How much of a list, from where."""

    limit: int
    token: str


class PageQuerySchema(PagedQuerySchema[PageQuery]):
    """The parameters of a list without filters."""

    def make(self, data: dict[str, Any]) -> PageQuery:
        """How much of the list."""
        return PageQuery(**data)


class StockQuerySchema(PagedQuerySchema[ListUnits]):
    """The parameters of the list of stock."""

    spec_name = SpecName()
    phase = Text(validate=validate.OneOf(_PHASES, error="is not one of {choices}"))

    def make(self, data: dict[str, Any]) -> ListUnits:
        """Which units."""
        return ListUnits(**data)


class UnitsQuerySchema(StockQuerySchema):
    """The parameters of the list of users' units."""

    label = LabelSelector()


class StoragesQuerySchema(PagedQuerySchema[ListStorages]):
    """The parameters of the list of storages."""

    phase = Text(validate=validate.OneOf(_STORAGE_PHASES, error="is not one of {choices}"))
    label = LabelSelector()

    def make(self, data: dict[str, Any]) -> ListStorages:
        """Which storages."""
        return ListStorages(**data)


class FunctionsQuerySchema(PagedQuerySchema[ListFunctions]):
    """The parameters of the list of functions."""

    phase = Text(validate=validate.OneOf(_FUNCTION_PHASES, error="is not one of {choices}"))

    def make(self, data: dict[str, Any]) -> ListFunctions:
        """Which functions."""
        return ListFunctions(**data)


@dataclass(frozen=True, slots=True)
class JobsQuery:
    """Which jobs, and how many at a time."""

    limit: int
    token: str
    type: OperationType | None = None
    phase: OperationPhase | None = None


class JobsQuerySchema(PagedQuerySchema[JobsQuery]):
    """The parameters of the list of jobs."""

    type = Text(validate=validate.OneOf(list(TYPES), error="is not one of {choices}"))
    status = Text(validate=validate.OneOf(list(STATUSES), error="is not one of {choices}"))

    def make(self, data: dict[str, Any]) -> JobsQuery:
        """Which jobs."""
        return JobsQuery(
            data["limit"],
            data["token"],
            TYPES.get(data.get("type", "")),
            STATUSES.get(data.get("status", "")),
        )


class WaitQuerySchema(QuerySchema[int | None]):
    """Whether to wait until a unit is ready, and how long; None is not at all."""

    wait = Text(
        validate=validate.OneOf(["Ready"], error="must be Ready"),
        metadata={"description": "Answer only when the unit is Ready or Failed."},
    )
    timeout_seconds = Count(
        load_default=WAIT,
        validate=validate.Range(1, LONGEST_WAIT, error="must be from {min} to {max}"),
        metadata={"description": "How long to wait at most."},
    )

    def make(self, data: dict[str, Any]) -> int | None:
        """How many seconds to wait."""
        seconds: int = data["timeout_seconds"]
        return seconds if "wait" in data else None
