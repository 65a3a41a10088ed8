"""The custom resources that the API reads and writes."""

from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from shared.k8s.meta import ObjectMeta
from shared.v1alpha1 import function, gpustorage, gpuunit, operation, stockpool
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.stockpool import StockPool


class KubeObject(Protocol):
    """The part that all resource models share."""

    @property
    def metadata(self) -> ObjectMeta: ...


T = TypeVar("T", bound=KubeObject)


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """One kind of our API group and the model of its objects."""

    kind: str
    plural: str
    model: type[T]


GPU_UNITS: Final = Resource(gpuunit.KIND, gpuunit.PLURAL, GPUUnit)
STOCK_POOLS: Final = Resource(stockpool.KIND, stockpool.PLURAL, StockPool)
GPU_STORAGES: Final = Resource(gpustorage.KIND, gpustorage.PLURAL, GPUStorage)
FUNCTIONS: Final = Resource(function.KIND, function.PLURAL, Function)
OPERATIONS: Final = Resource(operation.KIND, operation.PLURAL, Operation)


class Revision(NamedTuple):
    """The version of an object's spec: writes of its status do not change it."""

    uid: str
    generation: int


def revision_of(metadata: ObjectMeta) -> Revision:
    """Return the revision of the object that has this metadata."""
    return Revision(metadata.uid, metadata.generation)
