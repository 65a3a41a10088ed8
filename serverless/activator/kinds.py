"""The Kubernetes kinds that the activator reads and writes."""

from typing import Final

import msgspec

from controller.runtime import Kind
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1 import function, gpuunit
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.group import GROUP, VERSION


class WorkerSecret(msgspec.Struct, frozen=True, kw_only=True):
    """A Secret of workers as Kubernetes returns it."""

    metadata: ObjectMeta
    data: dict[str, str] = {}


FUNCTIONS: Final = Kind(GROUP, VERSION, function.PLURAL, function.KIND, Function)
GPU_UNITS: Final = Kind(GROUP, VERSION, gpuunit.PLURAL, gpuunit.KIND, GPUUnit)
WORKER_SECRETS: Final = Kind("", "v1", "secrets", "Secret", WorkerSecret)
