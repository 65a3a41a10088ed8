"""The custom resources that the API reads and writes."""

from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from shared.k8s.meta import ObjectMeta
from shared.v1alpha1 import function, gpustorage, gpuunit, operation, stockpool
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.group import API_VERSION
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.stockpool import StockPool


class KubeObject(Protocol):
    """What every model of a resource has."""

    @property
    def metadata(self) -> ObjectMeta: ...


T = TypeVar("T", bound=KubeObject)


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """One kind of our group, and what its objects decode to."""

    kind: str
    plural: str
    model: type[T]

    def path(self, namespace: str, name: str = "", subresource: str = "") -> str:
        """The path of the collection, of one object, or of a part of it; parts must be names."""
        parts = [f"/apis/{API_VERSION}/namespaces/{namespace}/{self.plural}", name, subresource]
        return "/".join(part for part in parts if part)


GPU_UNITS: Final = Resource(gpuunit.KIND, gpuunit.PLURAL, GPUUnit)
STOCK_POOLS: Final = Resource(stockpool.KIND, stockpool.PLURAL, StockPool)
GPU_STORAGES: Final = Resource(gpustorage.KIND, gpustorage.PLURAL, GPUStorage)
FUNCTIONS: Final = Resource(function.KIND, function.PLURAL, Function)
OPERATIONS: Final = Resource(operation.KIND, operation.PLURAL, Operation)
