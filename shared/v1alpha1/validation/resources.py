"""Validation of the resources of a unit."""

from collections.abc import Iterator, Mapping
from typing import Final

from shared.k8s import name_syntax, quantity
from shared.k8s.name_syntax import is_extended_resource, is_label_value, is_qualified_name
from shared.k8s.pod import Toleration
from shared.k8s.quantity import Quantity
from shared.v1alpha1.unit_resources import UnitResources
from shared.v1alpha1.validation.problem import Problem, truncate

_TAINT_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def resource_problems(spec: UnitResources) -> list[Problem]:
    """Return all problems with the resources and with the selection of nodes."""
    return [
        *quantity_problems("spec.cpu", spec.cpu),
        *_memory_problems(spec.memory),
        *_gpu_resource_problems(spec.gpu_resource),
        *_node_selector_problems(spec.node_selector),
        *(
            problem
            for position, toleration in enumerate(spec.tolerations)
            for problem in _toleration_problems(f"spec.tolerations[{position}]", toleration)
        ),
        *quantity_problems("spec.shmSize", spec.shm_size),
    ]


def quantity_problems(path: str, text: str) -> Iterator[Problem]:
    """Return the problems with an amount; empty if there is no amount."""
    if not text:
        return
    try:
        if Quantity.parse(text).nanos <= 0:
            yield Problem(path, text, "must be greater than 0")
    except ValueError:
        yield Problem(path, text, f"is not {quantity.ACCEPTED_FORMAT}, at most 2^63-1")


def _memory_problems(text: str) -> Iterator[Problem]:
    if not text:
        yield Problem("spec.memory", None, f"is required: use {quantity.ACCEPTED_FORMAT}")
    yield from quantity_problems("spec.memory", text)


def _gpu_resource_problems(text: str) -> Iterator[Problem]:
    if not is_extended_resource(text):
        yield Problem("spec.gpuResource", text, f"is not {name_syntax.EXTENDED_RESOURCE_SYNTAX}")


def _node_selector_problems(labels: Mapping[str, str]) -> Iterator[Problem]:
    for key, value in labels.items():
        if not is_qualified_name(key):
            message = f"is not the key of a label: {name_syntax.QUALIFIED_NAME_SYNTAX}"
            yield Problem("spec.nodeSelector", key, message)
        if not is_label_value(value):
            message = f"is not the value of a label: {name_syntax.LABEL_VALUE_SYNTAX}"
            yield Problem(f"spec.nodeSelector[{truncate(key)!r}]", value, message)


def _toleration_problems(path: str, toleration: Toleration) -> Iterator[Problem]:
    if toleration.key and not is_qualified_name(toleration.key):
        message = f"is not the key of a taint: {name_syntax.QUALIFIED_NAME_SYNTAX}"
        yield Problem(f"{path}.key", toleration.key, message)
    if toleration.operator not in ("", "Equal", "Exists"):
        yield Problem(f"{path}.operator", toleration.operator, "must be Equal or Exists")
    elif not toleration.key and toleration.operator != "Exists":
        yield Problem(f"{path}.operator", toleration.operator, "must be Exists if there is no key")
    yield from _toleration_value_problems(path, toleration)
    yield from _effect_problems(path, toleration)


def _toleration_value_problems(path: str, toleration: Toleration) -> Iterator[Problem]:
    if toleration.operator == "Exists" and toleration.value:
        message = "must be empty if the operator is Exists"
        yield Problem(f"{path}.value", toleration.value, message)
    elif not is_label_value(toleration.value):
        message = f"is not the value of a taint: {name_syntax.LABEL_VALUE_SYNTAX}"
        yield Problem(f"{path}.value", toleration.value, message)


def _effect_problems(path: str, toleration: Toleration) -> Iterator[Problem]:
    if toleration.effect and toleration.effect not in _TAINT_EFFECTS:
        message = f"must be one of {', '.join(_TAINT_EFFECTS)}"
        yield Problem(f"{path}.effect", toleration.effect, message)
    elif toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
        message = "must be NoExecute if tolerationSeconds is set"
        yield Problem(f"{path}.effect", toleration.effect, message)
