"""How what a unit takes of a node looks on the wire."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from marshmallow import validate

from apiserver.schemas.fields import ListOf, Part, Text, TextMap, Whole
from apiserver.schemas.names import Amount
from apiserver.schemas.part import PartSchema
from apiserver.schemas.request import by_rule
from shared.v1alpha1.unit_resources import GPU_RESOURCE, Envelope, Toleration
from shared.v1alpha1.validation.problem import Problem
from shared.v1alpha1.validation.resources import envelope_problems

MOST: Final = 2**31 - 1  # what the scale of a pool can hold


class TolerationSchema(PartSchema[Toleration]):
    """A taint of nodes that does not keep the pod away."""

    model = Toleration
    key = Text()
    operator = Text(metadata={"description": "Equal or Exists; without it, Equal."})
    value = Text()
    effect = Text()
    toleration_seconds = Whole()


def _by_rule(part: str, under: str) -> Callable[[Any], None]:
    def problems(value: object) -> Sequence[Problem]:
        given: dict[str, Any] = {part: value}
        return envelope_problems(Envelope(spec_name="any", memory="1", **given))

    return by_rule(problems, under)


class GPUs(Whole):
    """How many GPUs a unit has."""

    def __init__(self) -> None:
        super().__init__(
            validate=validate.Range(0, MOST, error="must be from {min} to {max}"),
            metadata={"description": "How many GPUs; 0 asks for none."},
        )


class GPUResource(Text):
    """The resource that nodes offer GPUs as."""

    def __init__(self) -> None:
        super().__init__(
            validate=_by_rule("gpu_resource", "gpuResource"),
            metadata={
                "description": "The resource that nodes offer GPUs as.",
                "example": GPU_RESOURCE,
            },
        )


class NodeSelector(TextMap):
    """Labels that a node must have."""

    def __init__(self) -> None:
        super().__init__(
            validate=_by_rule("node_selector", "nodeSelector"),
            metadata={"description": "Labels that a node must have."},
        )


class Tolerations(ListOf):
    """Taints of nodes that are no hindrance."""

    def __init__(self) -> None:
        super().__init__(
            Part(TolerationSchema),
            validate=_by_rule("tolerations", "tolerations"),
            metadata={"description": "Taints of nodes that are no hindrance."},
        )


def cpu() -> Amount:
    """The field for CPU."""
    return Amount(description="CPU, both request and limit.")


def memory() -> Amount:
    """The field for memory."""
    return Amount(description="Memory, both request and limit, such as 64Gi.")


def shm_size() -> Amount:
    """The field for shared memory."""
    return Amount(description="The size of /dev/shm; without it, half of the memory.")
