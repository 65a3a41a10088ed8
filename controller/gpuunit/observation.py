"""Snapshot of a unit and of all that decisions about it depend on."""

from collections.abc import Mapping
from dataclasses import dataclass

from controller.caches import BY_UNIT, Caches
from controller.gpuunit.source_stock import SourceStock, is_claimed_for, source_stock_of
from controller.gpuunit.workload import Workload, bound_or_nominated_node, observe_workload
from controller.namespaces import Namespaces
from controller.runtime import ObjectKey
from shared.k8s.node import Node
from shared.k8s.pod import Pod
from shared.v1alpha1 import wellknown
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.stockpool import StockPool


@dataclass(frozen=True, slots=True)
class Reservation:
    """Stock that is claimed for a unit, with its workload and its pool."""

    stock: GPUUnit
    workload: Workload
    pool: StockPool | None


@dataclass(frozen=True, slots=True)
class Observation:
    """Contents of the caches at one moment.

    Each decision is about one observation. A step that has written observes the unit again before
    it decides further: the caches then contain what it wrote (ADR 6). `nodes` are the nodes that
    the pods of the unit and of its reservation are on or nominated to. `terminating_stock_pods` are
    pods of the source stock that still end, also after the stock itself was deleted.
    """

    unit: GPUUnit
    workload: Workload
    nodes: Mapping[str, Node]
    function: Function | None = None
    reservation: Reservation | None = None
    terminating_stock_pods: tuple[Pod, ...] = ()

    @property
    def reserved_pods(self) -> tuple[Pod, ...]:
        """Return the pods that hold a node for the unit; empty without a reservation."""
        return () if self.reservation is None else self.reservation.workload.scheduled_pods


def observe_unit(caches: Caches, namespaces: Namespaces, unit: GPUUnit) -> Observation:
    """Read the caches without an await, so that all parts are of the same moment."""
    workload = observe_workload(caches, unit)
    source = source_stock_of(unit)
    reservation = None if source is None else observe_reservation(caches, namespaces, source)
    reserved = () if reservation is None else reservation.workload.scheduled_pods
    pods = (*workload.current_pods, *workload.previous_pods, *reserved)
    return Observation(
        unit,
        workload,
        caches.nodes_by_name(map(bound_or_nominated_node, pods)),
        caches.function_of(unit),
        reservation,
        () if source is None else terminating_stock_pods(caches, namespaces, source),
    )


def observe_reservation(
    caches: Caches, namespaces: Namespaces, source_stock: SourceStock
) -> Reservation | None:
    """Read the stock of a unit; None once it is deleted or no longer claimed for the unit."""
    stock = caches.units.get(ObjectKey(namespaces.stock, source_stock.name))
    if stock is None or not is_claimed_for(stock, source_stock):
        return None
    pool_name = stock.metadata.labels.get(wellknown.POOL_LABEL, "")
    pool = caches.pools.get(ObjectKey(stock.metadata.namespace, pool_name))
    return Reservation(stock, observe_workload(caches, stock), pool)


def terminating_stock_pods(
    caches: Caches, namespaces: Namespaces, source_stock: SourceStock
) -> tuple[Pod, ...]:
    """Return the pods of the source stock that are on a node and being deleted."""
    pods = caches.pods.by_index(namespaces.stock, BY_UNIT, source_stock.name)
    return tuple(
        pod for pod in pods if pod.spec.node_name and pod.metadata.deletion_timestamp is not None
    )
