"""What is wrong with the parts of a unit together, also where one of them is wrong by itself."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from marshmallow import ValidationError

from apiserver.details import problem_details
from shared.v1alpha1.gpuunit import GPUUnitSpec, UnitAccess
from shared.v1alpha1.template import WorkloadTemplate
from shared.v1alpha1.validation.problem import Problem
from shared.v1alpha1.validation.serverless import serverless_problems
from shared.v1alpha1.validation.unit import access_problems

# Of a part that is wrong somewhere marshmallow keeps a dict or list of what is right.
PARTIAL_TYPES: Final = (dict, list)

_SPEC_FIELDS: Final = ("template", "access", "storage_mounts", "serverless")
_MODELS_WITHOUT_REQUIRED_FIELDS: Final[dict[str, type[WorkloadTemplate | UnitAccess]]] = {
    "template": WorkloadTemplate,
    "access": UnitAccess,
}


def require_valid_access(data: Mapping[str, Any], original: object) -> None:
    """Refuse an address that is of no port; nothing is said of ports that cannot be read."""
    if has_readable_ports(data, original):
        _raise_problems(access_problems(readable_spec(data)))


def require_valid_worker(data: Mapping[str, Any]) -> None:
    """Refuse what the worker of a function cannot be together with."""
    _raise_problems(serverless_problems(readable_spec(data)))


def readable_spec(data: Mapping[str, Any]) -> GPUUnitSpec:
    """As much of the unit as could be read."""
    parts = {name: _readable_value(name, data[name]) for name in _SPEC_FIELDS if name in data}
    return GPUUnitSpec(
        spec_name="any", **{name: part for name, part in parts.items() if part is not None}
    )


def _readable_value(name: str, value: Any) -> Any:
    """A part; of an unfinished one its finished fields, or None where it cannot be without all."""
    if not isinstance(value, PARTIAL_TYPES):
        return value
    model = _MODELS_WITHOUT_REQUIRED_FIELDS.get(name)
    if model is None or not isinstance(value, dict):
        return None
    fields = value.items()
    return model(**{each: part for each, part in fields if not isinstance(part, PARTIAL_TYPES)})


def has_readable_ports(data: Mapping[str, Any], original: object) -> bool:
    """Whether it is known which ports the unit has."""
    asked = original.get("template") if isinstance(original, Mapping) else None
    if not isinstance(asked, Mapping):
        return asked is None
    found = data.get("template")
    is_read = isinstance(found, dict) and isinstance(found.get("ports"), tuple)
    return "ports" not in asked or is_read or isinstance(found, WorkloadTemplate)


def _raise_problems(problems: Sequence[Problem]) -> None:
    found = problem_details(problems)
    if found:
        raise ValidationError({each.field: [each.message] for each in found})
