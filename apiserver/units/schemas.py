"""How users' units look on the wire."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from marshmallow import validates_schema

from apiserver.commands import ChangeUnit, CreateUnit
from apiserver.limits import RequestLimits
from apiserver.schemas.fields import StrictList, StrictNested, StrictString, predicate_validator
from apiserver.schemas.images import ImageField
from apiserver.schemas.mounts import StorageMountsField
from apiserver.schemas.names import (
    SUBDOMAIN_RULES,
    LabelsField,
    Name,
    OperationID,
    SpecName,
)
from apiserver.schemas.request import RequestSchema, rule_validator
from apiserver.schemas.serverless import ServerlessSchema
from apiserver.schemas.template import TemplateSchema
from apiserver.units.access import AccessSchema
from apiserver.units.unit_parts import require_valid_access, require_valid_worker
from shared.v1alpha1.gpuunit import GPUUnitSpec
from shared.v1alpha1.validation.problem import Problem
from shared.v1alpha1.validation.unit import workload_problems

_FROM_STOCK_MESSAGE: Final = "cannot be given: it comes from the stock unit"


def _pull_secret_problems(names: tuple[str, ...]) -> Sequence[Problem]:
    return workload_problems(GPUUnitSpec(spec_name="any", image="any", image_pull_secrets=names))


class CreateUnitSchema(RequestSchema[CreateUnit]):
    """Turn one ready stock unit into a user's unit."""

    unsupported_fields = dict.fromkeys(
        ("cpu", "memory", "gpu", "gpuResource", "shmSize"), _FROM_STOCK_MESSAGE
    )

    operation_id = OperationID(required=True)
    name = Name(required=True, description="What the unit is called.")
    spec_name = SpecName(required=True)
    image = ImageField(required=True)
    namespace = StrictString(metadata={"description": "Only the configured one."})
    stock_namespace = StrictString(metadata={"description": "Only the configured one."})
    stock_name = Name(description="Take exactly this stock unit.")
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
        """Refuse an address that is of no port."""
        require_valid_access(data, original)

    @validates_schema(skip_on_field_errors=False)
    def check_worker(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse what a worker cannot be together with."""
        require_valid_worker(data)

    def build(self, data: dict[str, Any]) -> CreateUnit:
        """The command, without the namespaces: there is one of each."""
        chosen = ("namespace", "stock_namespace")
        return CreateUnit(**{name: each for name, each in data.items() if name not in chosen})


class ChangeUnitSchema(RequestSchema[ChangeUnit]):
    """What is left out stays; an object replaces the stored one as a whole; null clears."""

    image = ImageField()
    template = StrictNested(TemplateSchema, allow_none=True)
    access = StrictNested(AccessSchema, allow_none=True)
    storage_mounts = StorageMountsField(allow_none=True)
    labels = LabelsField(allow_none=True)

    @validates_schema(skip_on_field_errors=False, pass_original=True)
    def check_access(self, data: dict[str, Any], original: object, **_: Any) -> None:
        """Refuse an address that is of no port, where the request has both."""
        if "template" in data and "access" in data:
            require_valid_access(data, original)

    def build(self, data: dict[str, Any]) -> ChangeUnit:
        """The command, which lacks the name of the unit."""
        return ChangeUnit(name="", **data)


def _must_be_namespace(namespace: str) -> Callable[[str], None]:
    return predicate_validator(
        namespace.__eq__, f"is not a namespace that this service uses; that is {namespace}"
    )
