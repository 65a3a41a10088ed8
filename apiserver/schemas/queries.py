"""How query parameters are written."""

from dataclasses import dataclass
from typing import Any, Final

from marshmallow import validate

from apiserver.commands import ListStorages, ListUnits
from apiserver.operations.schemas import JOB_STATUSES, JOB_TYPES
from apiserver.schemas.fields import QueryInteger, StrictString, predicate_validator
from apiserver.schemas.label_selector import ACCEPTED_FORMAT, is_label_selector
from apiserver.schemas.names import SpecName
from apiserver.schemas.request import C, RequestSchema
from apiserver.serverless_commands import ListFunctions
from shared.v1alpha1.operation import OperationType
from shared.v1alpha1.phases import FunctionPhase, OperationPhase, StoragePhase, UnitPhase

MAX_PAGE_SIZE: Final = 500
DEFAULT_PAGE_SIZE: Final = 100
MAX_WAIT_SECONDS: Final = 300
DEFAULT_WAIT_SECONDS: Final = 60

_UNIT_PHASES: Final = [phase.value for phase in UnitPhase]
_STORAGE_PHASES: Final = [phase.value for phase in StoragePhase]
_FUNCTION_PHASES: Final = [phase.value for phase in FunctionPhase]
_MAX_SELECTOR_LENGTH: Final = 4096


class QuerySchema(RequestSchema[C]):
    """Parameters are told by other words than fields."""

    field_noun = "parameter"


class LabelSelector(StrictString):
    """Which labels the objects of a list have."""

    def __init__(self) -> None:
        super().__init__(
            validate=[
                validate.Length(max=_MAX_SELECTOR_LENGTH, error="is longer than {max} characters"),
                predicate_validator(is_label_selector, f"is not {ACCEPTED_FORMAT}"),
            ],
            metadata={"description": "A Kubernetes label selector."},
        )


class PagedQuerySchema(QuerySchema[C]):
    """The parameters that every list has."""

    limit = QueryInteger(
        load_default=DEFAULT_PAGE_SIZE,
        validate=validate.Range(1, MAX_PAGE_SIZE, error="must be from {min} to {max}"),
    )
    continue_token = StrictString(
        data_key="continue",
        load_default="",
        metadata={"description": "The `meta.continue` of the part before."},
    )


@dataclass(frozen=True, slots=True)
class PageQuery:
    """How much of a list, from where."""

    limit: int
    continue_token: str


class PageQuerySchema(PagedQuerySchema[PageQuery]):
    """The parameters of a list without filters."""

    def build(self, data: dict[str, Any]) -> PageQuery:
        """How much of the list."""
        return PageQuery(**data)


class StockUnitsQuerySchema(PagedQuerySchema[ListUnits]):
    """The parameters of the list of stock."""

    spec_name = SpecName()
    phase = StrictString(validate=validate.OneOf(_UNIT_PHASES, error="is not one of {choices}"))

    def build(self, data: dict[str, Any]) -> ListUnits:
        """Which units."""
        return ListUnits(**data)


class UnitsQuerySchema(StockUnitsQuerySchema):
    """The parameters of the list of users' units."""

    label = LabelSelector()


class StoragesQuerySchema(PagedQuerySchema[ListStorages]):
    """The parameters of the list of storages."""

    phase = StrictString(validate=validate.OneOf(_STORAGE_PHASES, error="is not one of {choices}"))
    label = LabelSelector()

    def build(self, data: dict[str, Any]) -> ListStorages:
        """Which storages."""
        return ListStorages(**data)


class FunctionsQuerySchema(PagedQuerySchema[ListFunctions]):
    """The parameters of the list of functions."""

    phase = StrictString(validate=validate.OneOf(_FUNCTION_PHASES, error="is not one of {choices}"))

    def build(self, data: dict[str, Any]) -> ListFunctions:
        """Which functions."""
        return ListFunctions(**data)


@dataclass(frozen=True, slots=True)
class JobsQuery:
    """Which jobs, and how many at a time."""

    limit: int
    continue_token: str
    type: OperationType | None = None
    phase: OperationPhase | None = None


class JobsQuerySchema(PagedQuerySchema[JobsQuery]):
    """The parameters of the list of jobs."""

    type = StrictString(validate=validate.OneOf(list(JOB_TYPES), error="is not one of {choices}"))
    status = StrictString(
        validate=validate.OneOf(list(JOB_STATUSES), error="is not one of {choices}")
    )

    def build(self, data: dict[str, Any]) -> JobsQuery:
        """Which jobs."""
        return JobsQuery(
            data["limit"],
            data["continue_token"],
            JOB_TYPES.get(data.get("type", "")),
            JOB_STATUSES.get(data.get("status", "")),
        )


class WaitReadyQuerySchema(QuerySchema[int | None]):
    """Whether to wait until a unit is ready, and how long; None is not at all."""

    wait = StrictString(
        validate=validate.OneOf(["Ready"], error="must be Ready"),
        metadata={"description": "Answer only when the unit is Ready or Failed."},
    )
    timeout_seconds = QueryInteger(
        load_default=DEFAULT_WAIT_SECONDS,
        validate=validate.Range(1, MAX_WAIT_SECONDS, error="must be from {min} to {max}"),
        metadata={"description": "How long to wait at most."},
    )

    def build(self, data: dict[str, Any]) -> int | None:
        """How many seconds to wait."""
        seconds: int = data["timeout_seconds"]
        return seconds if "wait" in data else None
