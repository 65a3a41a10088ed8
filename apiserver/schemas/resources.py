"""Schemas of the resources of a unit."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from marshmallow import validate

from apiserver.schemas.fields import (
    StrictInteger,
    StrictList,
    StrictNested,
    StrictString,
    StringDict,
)
from apiserver.schemas.names import QuantityField
from apiserver.schemas.request import ModelSchema, rule_validator
from shared.k8s.pod import Toleration
from shared.v1alpha1.unit_resources import DEFAULT_GPU_RESOURCE, UnitResources
from shared.v1alpha1.validation.problem import Problem
from shared.v1alpha1.validation.resources import resource_problems

MAX_INT32: Final = 2**31 - 1  # the maximum replicas of the scale subresource of a pool


class TolerationSchema(ModelSchema[Toleration]):
    """A taint of nodes that the pod tolerates."""

    model = Toleration
    key = StrictString()
    operator = StrictString(metadata={"description": "Equal or Exists; the default is Equal."})
    value = StrictString()
    effect = StrictString()
    toleration_seconds = StrictInteger()


def _resource_validator(field_name: str, path: str) -> Callable[[Any], None]:
    def problems(value: object) -> Sequence[Problem]:
        fields: dict[str, Any] = {field_name: value}
        return resource_problems(UnitResources(spec_name="any", memory="1", **fields))

    return rule_validator(problems, path)


class GPUCount(StrictInteger):
    """The number of GPUs of a unit."""

    def __init__(self) -> None:
        super().__init__(
            validate=validate.Range(0, MAX_INT32, error="must be from {min} to {max}"),
            metadata={"description": "The number of GPUs; 0 for none."},
        )


class GPUResource(StrictString):
    """The name of the GPU resource of nodes."""

    def __init__(self) -> None:
        super().__init__(
            validate=_resource_validator("gpu_resource", "gpuResource"),
            metadata={
                "description": "The name of the GPU resource of the nodes.",
                "example": DEFAULT_GPU_RESOURCE,
            },
        )


class NodeSelector(StringDict):
    """The labels that a node must have."""

    def __init__(self) -> None:
        super().__init__(
            validate=_resource_validator("node_selector", "nodeSelector"),
            metadata={"description": "Labels that a node must have."},
        )


class Tolerations(StrictList):
    """The taints of nodes that the pod tolerates."""

    def __init__(self) -> None:
        super().__init__(
            StrictNested(TolerationSchema),
            validate=_resource_validator("tolerations", "tolerations"),
            metadata={"description": "Taints of nodes that the unit tolerates."},
        )


def cpu_field() -> QuantityField:
    """Return the field for CPU."""
    return QuantityField(description="CPU, both request and limit.")


def memory_field() -> QuantityField:
    """Return the field for memory."""
    return QuantityField(description="Memory, both request and limit, such as 64Gi.")


def shm_size_field() -> QuantityField:
    """Return the field for shared memory."""
    return QuantityField(description="The size of /dev/shm; the default is half of the memory.")
