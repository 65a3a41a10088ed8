"""Schemas of requests for users' units."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from marshmallow import ValidationError, validate, validates_schema

from apiserver.config import RequestLimits
from apiserver.errors import problem_details
from apiserver.schemas.fields import (
    QueryInteger,
    StrictList,
    StrictNested,
    StrictString,
    predicate_validator,
)
from apiserver.schemas.mounts import StorageMountsField
from apiserver.schemas.names import (
    SUBDOMAIN_RULES,
    LabelsField,
    Name,
    OperationID,
    SpecName,
)
from apiserver.schemas.queries import LabelSelector, PagedQuerySchema, QuerySchema
from apiserver.schemas.request import ModelSchema, RequestSchema, rule_validator
from apiserver.schemas.serverless import ServerlessSchema
from apiserver.schemas.template import ImageField, TemplateSchema
from apiserver.units.commands import ChangeUnit, CreateUnit, ListUnits
from shared.v1alpha1.gpuunit import GPUUnitSpec, UnitAccess
from shared.v1alpha1.phases import UnitPhase
from shared.v1alpha1.template import WorkloadTemplate
from shared.v1alpha1.validation.problem import Problem
from shared.v1alpha1.validation.serverless import serverless_problems
from shared.v1alpha1.validation.unit import access_problems, workload_problems

SCHEMES: Final = ("http", "https", "tcp")
# For a field with an error marshmallow keeps a dict or list of its valid parts.
PARTIAL_TYPES: Final = (dict, list)

_FROM_STOCK_MESSAGE: Final = "cannot be set: it comes from the stock unit"
_SPEC_FIELDS: Final = ("template", "access", "storage_mounts", "serverless")
_MODELS_WITHOUT_REQUIRED_FIELDS: Final[dict[str, type[WorkloadTemplate | UnitAccess]]] = {
    "template": WorkloadTemplate,
    "access": UnitAccess,
}


class AccessSchema(ModelSchema[UnitAccess]):
    """The port and the scheme of the published address."""

    model = UnitAccess
    primary_port = StrictString(
        metadata={"description": "The name of a port of the template; default: the first port."}
    )
    scheme = StrictString(
        validate=validate.OneOf(SCHEMES, error="must be http, https or tcp"),
        metadata={"default": "http"},
    )


def _pull_secret_problems(names: tuple[str, ...]) -> Sequence[Problem]:
    return workload_problems(GPUUnitSpec(spec_name="any", image="any", image_pull_secrets=names))


class CreateUnitSchema(RequestSchema[CreateUnit]):
    """A request that creates a user's unit from one ready stock unit."""

    unsupported_fields = dict.fromkeys(
        ("cpu", "memory", "gpu", "gpuResource", "shmSize"), _FROM_STOCK_MESSAGE
    )

    operation_id = OperationID(required=True)
    name = Name(required=True, description="The name of the unit.")
    spec_name = SpecName(required=True)
    image = ImageField(required=True)
    namespace = StrictString(metadata={"description": "Must be the configured namespace."})
    stock_namespace = StrictString(metadata={"description": "Must be the configured namespace."})
    stock_name = Name(description="The stock unit to use; default: any ready unit of the spec.")
    template = StrictNested(TemplateSchema)
    access = StrictNested(AccessSchema)
    storage_mounts = StorageMountsField()
    image_pull_secrets = StrictList(
        StrictString(metadata=SUBDOMAIN_RULES),
        validate=rule_validator(_pull_secret_problems, "imagePullSecrets"),
    )
    labels = LabelsField()
    serverless = StrictNested(ServerlessSchema)

    def __init__(self, limits: RequestLimits | None = None, **options: Any) -> None:
        super().__init__(**options)
        namespaces = (limits or RequestLimits()).namespaces
        self.fields["namespace"].validators = [_must_be_namespace(namespaces.instance)]
        self.fields["stock_namespace"].validators = [_must_be_namespace(namespaces.stock)]

    @validates_schema(skip_on_field_errors=False, pass_original=True)
    def check_access(self, data: dict[str, Any], original: object, **_: Any) -> None:
        """Refuse an address without a port of the template."""
        require_valid_access(data, original)

    @validates_schema(skip_on_field_errors=False)
    def check_worker(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse fields that a worker of a function cannot have."""
        require_valid_worker(data)

    def build(self, data: dict[str, Any]) -> CreateUnit:
        """Return the command, without the namespaces."""
        omitted = ("namespace", "stock_namespace")
        return CreateUnit(**{name: value for name, value in data.items() if name not in omitted})


class ChangeUnitSchema(RequestSchema[ChangeUnit]):
    """A change of a unit: absent fields stay, an object replaces the stored one, null clears."""

    image = ImageField()
    template = StrictNested(TemplateSchema, allow_none=True)
    access = StrictNested(AccessSchema, allow_none=True)
    storage_mounts = StorageMountsField(allow_none=True)
    labels = LabelsField(allow_none=True)

    @validates_schema(skip_on_field_errors=False, pass_original=True)
    def check_access(self, data: dict[str, Any], original: object, **_: Any) -> None:
        """Refuse an address without a port of the template, if the request has both."""
        if "template" in data and "access" in data:
            require_valid_access(data, original)

    def build(self, data: dict[str, Any]) -> ChangeUnit:
        """Return the command, without the name of the unit."""
        return ChangeUnit(name="", **data)


def _must_be_namespace(namespace: str) -> Callable[[str], None]:
    return predicate_validator(
        namespace.__eq__, f"is not the configured namespace, which is {namespace}"
    )


def require_valid_access(data: Mapping[str, Any], original: object) -> None:
    """Raise ValidationError for an address without a port, if the ports are valid themselves."""
    if has_readable_ports(data, original):
        _raise_problems(access_problems(readable_spec(data)))


def require_valid_worker(data: Mapping[str, Any]) -> None:
    """Raise ValidationError for fields that a worker of a function cannot have."""
    _raise_problems(serverless_problems(readable_spec(data)))


def readable_spec(data: Mapping[str, Any]) -> GPUUnitSpec:
    """Return a spec of the valid fields."""
    parts = {name: _readable_value(name, data[name]) for name in _SPEC_FIELDS if name in data}
    return GPUUnitSpec(
        spec_name="any", **{name: part for name, part in parts.items() if part is not None}
    )


def _readable_value(name: str, value: Any) -> Any:
    """Return a field, or its valid parts; None if the model needs all of them."""
    if not isinstance(value, PARTIAL_TYPES):
        return value
    model = _MODELS_WITHOUT_REQUIRED_FIELDS.get(name)
    if model is None or not isinstance(value, dict):
        return None
    fields = value.items()
    return model(**{key: part for key, part in fields if not isinstance(part, PARTIAL_TYPES)})


def has_readable_ports(data: Mapping[str, Any], original: object) -> bool:
    """Return whether the ports of the unit are known."""
    raw = original.get("template") if isinstance(original, Mapping) else None
    if not isinstance(raw, Mapping):
        return raw is None
    template = data.get("template")
    is_read = isinstance(template, dict) and isinstance(template.get("ports"), tuple)
    return "ports" not in raw or is_read or isinstance(template, WorkloadTemplate)


def _raise_problems(problems: Sequence[Problem]) -> None:
    details = problem_details(problems)
    if details:
        raise ValidationError({detail.field: [detail.message] for detail in details})


MAX_WAIT_SECONDS: Final = 300
DEFAULT_WAIT_SECONDS: Final = 60

_UNIT_PHASES: Final = [phase.value for phase in UnitPhase]


class StockUnitsQuerySchema(PagedQuerySchema[ListUnits]):
    """The parameters of the list of stock."""

    spec_name = SpecName()
    phase = StrictString(validate=validate.OneOf(_UNIT_PHASES, error="is not one of {choices}"))

    def build(self, data: dict[str, Any]) -> ListUnits:
        """Return the query."""
        return ListUnits(**data)


class UnitsQuerySchema(StockUnitsQuerySchema):
    """The parameters of the list of users' units."""

    label = LabelSelector()


class WaitReadyQuerySchema(QuerySchema[int | None]):
    """The parameters of a wait for a unit: the seconds, or None without a wait."""

    wait = StrictString(
        validate=validate.OneOf(["Ready"], error="must be Ready"),
        metadata={"description": "Respond once the unit is Ready or Failed."},
    )
    timeout_seconds = QueryInteger(
        load_default=DEFAULT_WAIT_SECONDS,
        validate=validate.Range(1, MAX_WAIT_SECONDS, error="must be from {min} to {max}"),
        metadata={"description": "The maximum wait in seconds."},
    )

    def build(self, data: dict[str, Any]) -> int | None:
        """Return how many seconds to wait; None without a wait."""
        seconds: int = data["timeout_seconds"]
        return seconds if "wait" in data else None
