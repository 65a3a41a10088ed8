"""What is wrong with the parts of a unit together, also where one of them is wrong by itself."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from marshmallow import ValidationError

from apiserver.details import request_details
from shared.v1alpha1.gpuunit import Access, GPUUnitSpec
from shared.v1alpha1.template import Template
from shared.v1alpha1.validation.problem import Problem
from shared.v1alpha1.validation.serverless import serverless_problems
from shared.v1alpha1.validation.unit import access_problems

# Of a part that is wrong somewhere marshmallow keeps a dict or list of what is right.
UNFINISHED: Final = (dict, list)

_PARTS: Final = ("template", "access", "storage_mounts", "serverless")
_WITHOUT_REQUIRED_FIELDS: Final[dict[str, type[Template | Access]]] = {
    "template": Template,
    "access": Access,
}


def require_access(data: Mapping[str, Any], given: object) -> None:
    """Refuse an address that is of no port; nothing is said of ports that cannot be read."""
    if has_readable_ports(data, given):
        _refuse(access_problems(as_read(data)))


def require_worker(data: Mapping[str, Any]) -> None:
    """Refuse what the worker of a function cannot be together with."""
    _refuse(serverless_problems(as_read(data)))


def as_read(data: Mapping[str, Any]) -> GPUUnitSpec:
    """As much of the unit as could be read."""
    parts = {name: _part(name, data[name]) for name in _PARTS if name in data}
    return GPUUnitSpec(
        spec_name="any", **{name: part for name, part in parts.items() if part is not None}
    )


def _part(name: str, value: Any) -> Any:
    """A part; of an unfinished one its finished fields, or None where it cannot be without all."""
    if not isinstance(value, UNFINISHED):
        return value
    model = _WITHOUT_REQUIRED_FIELDS.get(name)
    if model is None or not isinstance(value, dict):
        return None
    fields = value.items()
    return model(**{each: part for each, part in fields if not isinstance(part, UNFINISHED)})


def has_readable_ports(data: Mapping[str, Any], given: object) -> bool:
    """Whether it is known which ports the unit has."""
    asked = given.get("template") if isinstance(given, Mapping) else None
    if not isinstance(asked, Mapping):
        return asked is None
    found = data.get("template")
    is_read = isinstance(found, dict) and isinstance(found.get("ports"), tuple)
    return "ports" not in asked or is_read or isinstance(found, Template)


def _refuse(problems: Sequence[Problem]) -> None:
    found = request_details(problems)
    if found:
        raise ValidationError({each.field: [each.message] for each in found})
