"""The snapshot of the cluster, with the few fields that the dashboard shows."""

from dataclasses import dataclass
from typing import Final

import msgspec

from apiserver.kube.resources import Resource
from shared.k8s.meta import Condition, ObjectMeta
from shared.k8s.node import Node
from shared.v1alpha1 import gpuunit
from shared.v1alpha1.function import Function
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.stockpool import StockPool


class DashboardUnitSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The spec and the GPUs of a unit."""

    spec_name: str = ""
    gpu: int = 0


class DashboardUnitStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The phase, the node and the conditions of a unit."""

    phase: str = ""
    node_name: str = ""
    conditions: tuple[Condition, ...] = ()


class DashboardUnit(msgspec.Struct, frozen=True, kw_only=True):
    """A unit without its other fields, which would double the time to decode thousands."""

    metadata: ObjectMeta
    spec: DashboardUnitSpec = DashboardUnitSpec()
    status: DashboardUnitStatus = DashboardUnitStatus()


DASHBOARD_UNITS: Final = Resource(gpuunit.KIND, gpuunit.PLURAL, DashboardUnit)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSnapshot:
    """The objects of the dashboard; succeeded operations are only counted."""

    nodes: tuple[Node, ...] = ()
    stock: tuple[DashboardUnit, ...] = ()
    units: tuple[DashboardUnit, ...] = ()
    pools: tuple[StockPool, ...] = ()
    operations: tuple[Operation, ...] = ()
    succeeded_operations: int = 0
    functions: tuple[Function, ...] = ()

    @property
    def object_count(self) -> int:
        """Return how many objects were read."""
        parts = (self.nodes, self.stock, self.units, self.pools, self.operations, self.functions)
        return sum(map(len, parts))
