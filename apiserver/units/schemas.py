"""How users' units look on the wire."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from marshmallow import validates_schema

from apiserver.commands import ChangeUnit, CreateUnit
from apiserver.limits import Limits
from apiserver.schemas.fields import ListOf, Part, Text, matching
from apiserver.schemas.images import Image
from apiserver.schemas.mounts import StorageMounts
from apiserver.schemas.names import (
    SUBDOMAIN_RULES,
    Labels,
    Name,
    OperationID,
    SpecName,
)
from apiserver.schemas.request import RequestSchema, by_rule
from apiserver.schemas.serverless import ServerlessSchema
from apiserver.schemas.template import TemplateSchema
from apiserver.units.access import AccessSchema
from apiserver.units.unit_parts import require_access, require_worker
from shared.v1alpha1.gpuunit import GPUUnitSpec
from shared.v1alpha1.validation.problem import Problem
from shared.v1alpha1.validation.unit import workload_problems

_OF_THE_STOCK: Final = "cannot be given: it comes from the stock unit"


def _pull_secrets(names: tuple[str, ...]) -> Sequence[Problem]:
    return workload_problems(GPUUnitSpec(spec_name="any", image="any", image_pull_secrets=names))


class CreateUnitSchema(RequestSchema[CreateUnit]):
    """Turn one ready stock unit into a user's unit."""

    refusals = dict.fromkeys(("cpu", "memory", "gpu", "gpuResource", "shmSize"), _OF_THE_STOCK)

    operation_id = OperationID(required=True)
    name = Name(required=True, description="What the unit is called.")
    spec_name = SpecName(required=True)
    image = Image(required=True)
    namespace = Text(metadata={"description": "Only the configured one."})
    stock_namespace = Text(metadata={"description": "Only the configured one."})
    stock_name = Name(description="Take exactly this stock unit.")
    template = Part(TemplateSchema)
    access = Part(AccessSchema)
    storage_mounts = StorageMounts()
    image_pull_secrets = ListOf(
        Text(metadata=SUBDOMAIN_RULES), validate=by_rule(_pull_secrets, "imagePullSecrets")
    )
    labels = Labels()
    serverless = Part(ServerlessSchema)

    def __init__(self, limits: Limits | None = None, **options: Any) -> None:
        super().__init__(**options)
        namespaces = (limits or Limits()).namespaces
        self.fields["namespace"].validators = [_only(namespaces.instance)]
        self.fields["stock_namespace"].validators = [_only(namespaces.stock)]

    @validates_schema(skip_on_field_errors=False, pass_original=True)
    def check_access(self, data: dict[str, Any], given: object, **_: Any) -> None:
        """Refuse an address that is of no port."""
        require_access(data, given)

    @validates_schema(skip_on_field_errors=False)
    def check_worker(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse what a worker cannot be together with."""
        require_worker(data)

    def make(self, data: dict[str, Any]) -> CreateUnit:
        """The command, without the namespaces: there is one of each."""
        chosen = ("namespace", "stock_namespace")
        return CreateUnit(**{name: each for name, each in data.items() if name not in chosen})


class ChangeUnitSchema(RequestSchema[ChangeUnit]):
    """What is left out stays; an object replaces the stored one as a whole; null clears."""

    image = Image()
    template = Part(TemplateSchema, allow_none=True)
    access = Part(AccessSchema, allow_none=True)
    storage_mounts = StorageMounts(allow_none=True)
    labels = Labels(allow_none=True)

    @validates_schema(skip_on_field_errors=False, pass_original=True)
    def check_access(self, data: dict[str, Any], given: object, **_: Any) -> None:
        """Refuse an address that is of no port, where the request has both."""
        if "template" in data and "access" in data:
            require_access(data, given)

    def make(self, data: dict[str, Any]) -> ChangeUnit:
        """The command, which lacks the name of the unit."""
        return ChangeUnit(name="", **data)


def _only(namespace: str) -> Callable[[str], None]:
    return matching(
        namespace.__eq__, f"is not a namespace that this service uses; that is {namespace}"
    )
