"""What an envelope must be for a node to give it."""

from collections.abc import Iterator, Mapping
from typing import Final

from shared.k8s import name_syntax, quantity
from shared.k8s.name_syntax import is_extended_resource, is_label_value, is_qualified
from shared.k8s.quantity import Quantity
from shared.v1alpha1.unit_resources import Envelope, Toleration
from shared.v1alpha1.validation.problem import Problem, cut

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def envelope_problems(spec: Envelope) -> list[Problem]:
    """Everything that is wrong with the resources and the choice of nodes."""
    return [
        *amount_problems("spec.cpu", spec.cpu),
        *_memory(spec.memory),
        *_gpu_resource(spec.gpu_resource),
        *_node_selector(spec.node_selector),
        *(
            problem
            for place, toleration in enumerate(spec.tolerations)
            for problem in _toleration(f"spec.tolerations[{place}]", toleration)
        ),
        *amount_problems("spec.shmSize", spec.shm_size),
    ]


def amount_problems(path: str, text: str) -> Iterator[Problem]:
    """What is wrong with an amount, where one is given."""
    if not text:
        return
    try:
        if Quantity.parse(text).nanos <= 0:
            yield Problem(path, text, "is not above 0")
    except ValueError:
        yield Problem(path, text, f"is not {quantity.ACCEPTED}, at most 2^63-1")


def _memory(text: str) -> Iterator[Problem]:
    if not text:
        yield Problem("spec.memory", None, f"is required: give {quantity.ACCEPTED}")
    yield from amount_problems("spec.memory", text)


def _gpu_resource(text: str) -> Iterator[Problem]:
    if not is_extended_resource(text):
        yield Problem("spec.gpuResource", text, f"is not {name_syntax.EXTENDED_RESOURCE}")


def _node_selector(labels: Mapping[str, str]) -> Iterator[Problem]:
    for key, value in labels.items():
        if not is_qualified(key):
            message = f"is not the key of a label: {name_syntax.QUALIFIED}"
            yield Problem("spec.nodeSelector", key, message)
        if not is_label_value(value):
            message = f"is not the value of a label: {name_syntax.LABEL_VALUE}"
            yield Problem(f"spec.nodeSelector[{cut(key)!r}]", value, message)


def _toleration(path: str, given: Toleration) -> Iterator[Problem]:
    if given.key and not is_qualified(given.key):
        message = f"is not the key of a taint: {name_syntax.QUALIFIED}"
        yield Problem(f"{path}.key", given.key, message)
    if given.operator not in ("", "Equal", "Exists"):
        yield Problem(f"{path}.operator", given.operator, "is neither Equal nor Exists")
    elif not given.key and given.operator != "Exists":
        yield Problem(f"{path}.operator", given.operator, "must be Exists where there is no key")
    yield from _tolerated_value(path, given)
    yield from _effect(path, given)


def _tolerated_value(path: str, given: Toleration) -> Iterator[Problem]:
    if given.operator == "Exists" and given.value:
        yield Problem(f"{path}.value", given.value, "must be empty where the operator is Exists")
    elif not is_label_value(given.value):
        message = f"is not the value of a taint: {name_syntax.LABEL_VALUE}"
        yield Problem(f"{path}.value", given.value, message)


def _effect(path: str, given: Toleration) -> Iterator[Problem]:
    if given.effect and given.effect not in _EFFECTS:
        yield Problem(f"{path}.effect", given.effect, f"is none of {', '.join(_EFFECTS)}")
    elif given.toleration_seconds is not None and given.effect != "NoExecute":
        message = "must be NoExecute where tolerationSeconds is given"
        yield Problem(f"{path}.effect", given.effect, message)
