"""Everything that the controller knows of the cluster, and by what it is found."""

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any, Final, TypeVar

from controller.kinds import (
    DEPLOYMENTS,
    FUNCTIONS,
    GPU_STORAGES,
    GPU_UNITS,
    JOBS,
    NETWORK_POLICIES,
    NODES,
    OPERATIONS,
    PODS,
    REPLICA_SETS,
    SERVICES,
    STOCK_POOLS,
    STORAGE_CLASSES,
    VOLUME_CLAIMS,
)
from controller.namespaces import Namespaces
from controller.runtime.cache.cache import Cache
from controller.runtime.cache.informer import Informer
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import Scope, Source
from controller.runtime.cache.store import Indexer
from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object
from controller.runtime.clock import Clock
from controller.runtime.key import ObjectKey
from shared.k8s.deployment import Deployment, ReplicaSet
from shared.k8s.node import Node
from shared.k8s.pod import Pod
from shared.v1alpha1 import wellknown
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.storage_lock import lock_of

T = TypeVar("T", bound=Object)

# The indexes: which objects are found by what.
BY_UNIT: Final = "unit"  # pods by the name of their unit
BY_NODE: Final = "node"  # pods by the node that they are on, or that is kept for them
BY_OWNER: Final = "owner"  # replica sets by the uid of their Deployment
BY_UID: Final = "uid"  # units by their uid
BY_POOL: Final = "pool"  # units by the name of their pool
BY_SOURCE: Final = "source"  # units by the uid of the stock that they came from
BY_OPERATION: Final = "operation"  # units by the id of an operation that made or claims them
BY_STORAGE: Final = "storage"  # units by the name of a storage that they mount
BY_FUNCTION: Final = "function"  # units by the name of the function that they work for
BY_CLAIM: Final = "claim"  # pods, and what makes pods, by the claims whose volumes they use
BY_LOCK: Final = "lock"  # storages by the id of the operation that has them locked
BY_HOLDER: Final = "holder"  # storages by the name of the unit that has them locked
BY_ORIGIN: Final = "origin"  # storages by the name of the storage that they are a copy of


class Caches:
    """One informer a kind and namespace; everybody who reads shares them."""

    def __init__(
        self,
        source: Source,
        namespaces: Namespaces,
        metrics: InformerMetrics,
        clock: Clock,
        randomness: Random,
    ) -> None:
        def cache(
            kind: Kind[T],
            where: Iterable[str],
            indexers: Mapping[str, Indexer[T]] | None = None,
        ) -> Cache[T]:
            return Cache(
                {
                    namespace: Informer(
                        source, Scope(kind, namespace), metrics, clock, randomness, indexers
                    )
                    for namespace in where
                }
            )

        self.units = cache(GPU_UNITS, namespaces.units, UNIT_INDEXES)
        self.pools = cache(STOCK_POOLS, [namespaces.stock])
        self.storages = cache(GPU_STORAGES, [namespaces.instance], STORAGE_INDEXES)
        self.functions = cache(FUNCTIONS, [namespaces.instance])
        self.operations = cache(OPERATIONS, [namespaces.system])
        self.deployments = cache(DEPLOYMENTS, namespaces.units, {BY_CLAIM: deployment_claims})
        self.replica_sets = cache(REPLICA_SETS, namespaces.units, REPLICA_SET_INDEXES)
        self.pods = cache(PODS, namespaces.units, POD_INDEXES)
        self.services = cache(SERVICES, [namespaces.instance])
        self.policies = cache(NETWORK_POLICIES, namespaces.units)
        self.jobs = cache(JOBS, [namespaces.instance])
        self.claims = cache(VOLUME_CLAIMS, [namespaces.instance])
        self.classes = cache(STORAGE_CLASSES, [""])
        self.nodes = cache(NODES, [""])

    def nodes_of(self, pods: Iterable[Pod]) -> dict[str, Node]:
        """The nodes that `pods` are on, as far as they are there."""
        return self.nodes_named(pod.spec.node_name for pod in pods)

    def nodes_named(self, names: Iterable[str]) -> dict[str, Node]:
        """Those of `names` that are there."""
        found = {name: self.node(name) for name in names}
        return {name: node for name, node in found.items() if node is not None}

    def node(self, name: str) -> Node | None:
        return self.nodes.get(ObjectKey("", name))

    def function_of(self, unit: GPUUnit) -> Function | None:
        """The function that the unit works for, where it does and the function is there."""
        names = functions_of(unit)
        found = (self.functions.get(ObjectKey(unit.metadata.namespace, name)) for name in names)
        return next(found, None)

    @property
    def informers(self) -> tuple[Informer[Any], ...]:
        """All of them, for whoever runs them and for the writer."""
        caches: tuple[Cache[Any], ...] = (
            self.units,
            self.pools,
            self.storages,
            self.functions,
            self.operations,
            self.deployments,
            self.replica_sets,
            self.pods,
            self.services,
            self.policies,
            self.jobs,
            self.claims,
            self.classes,
            self.nodes,
        )
        return tuple(informer for each in caches for informer in each.informers)


def owner_uids(replica_set: ReplicaSet) -> Iterable[str]:
    return [owner.uid for owner in replica_set.metadata.owner_references if owner.controller]


def replica_set_claims(replica_set: ReplicaSet) -> Iterable[str]:
    """None of a revision that makes no pods."""
    return replica_set.spec.template.spec.claims if replica_set.spec.replicas else ()


def deployment_claims(deployment: Deployment) -> Iterable[str]:
    volumes = deployment.spec.get("template", {}).get("spec", {}).get("volumes", ())
    claims = (volume.get("persistentVolumeClaim", {}) for volume in volumes)
    return [claim["claimName"] for claim in claims if "claimName" in claim]


def lock_operations(storage: GPUStorage) -> Iterable[str]:
    lock = lock_of(storage.metadata.annotations)
    return [] if lock is None or not lock.operation else [lock.operation]


def lock_units(storage: GPUStorage) -> Iterable[str]:
    lock = lock_of(storage.metadata.annotations)
    return [] if lock is None or not lock.unit else [lock.unit]


def origins(storage: GPUStorage) -> Iterable[str]:
    prepare = storage.spec.prepare
    return [] if prepare is None or not prepare.from_storage_name else [prepare.from_storage_name]


def functions_of(unit: GPUUnit) -> Iterable[str]:
    return [] if unit.spec.serverless is None else [unit.spec.serverless.request_id]


def operations_of(unit: GPUUnit) -> Iterable[str]:
    made = named(unit.metadata.annotations, wellknown.OPERATION_ID)
    return [*made, *named(unit.metadata.annotations, wellknown.CLAIM_OPERATION)]


def named(entries: Mapping[str, str], key: str) -> Iterable[str]:
    return [entries[key]] if key in entries else []


POD_INDEXES: Final[Mapping[str, Indexer[Pod]]] = {
    BY_UNIT: lambda pod: named(pod.metadata.labels, wellknown.UNIT_LABEL),
    BY_NODE: lambda pod: filter(None, [pod.spec.node_name or pod.status.nominated_node_name]),
    BY_CLAIM: lambda pod: pod.spec.claims,
}
REPLICA_SET_INDEXES: Final[Mapping[str, Indexer[ReplicaSet]]] = {
    BY_OWNER: owner_uids,
    BY_CLAIM: replica_set_claims,
}
STORAGE_INDEXES: Final[Mapping[str, Indexer[GPUStorage]]] = {
    BY_LOCK: lock_operations,
    BY_HOLDER: lock_units,
    BY_ORIGIN: origins,
}
UNIT_INDEXES: Final[Mapping[str, Indexer[GPUUnit]]] = {
    BY_UID: lambda unit: [unit.metadata.uid],
    BY_POOL: lambda unit: named(unit.metadata.labels, wellknown.POOL_LABEL),
    BY_SOURCE: lambda unit: named(unit.metadata.annotations, wellknown.SOURCE_STOCK_UID),
    BY_OPERATION: operations_of,
    BY_FUNCTION: functions_of,
    BY_STORAGE: lambda unit: [mount.name for mount in unit.spec.storage_mounts],
}
