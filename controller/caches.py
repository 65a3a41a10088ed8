"""Informer caches of the controller, and their indexes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol, TypeVar

from controller.kinds import (
    DEPLOYMENTS,
    FUNCTIONS,
    GPU_STORAGES,
    GPU_UNITS,
    JOBS,
    NETWORK_POLICIES,
    NODES,
    OPERATIONS,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    REPLICA_SETS,
    SERVICES,
    STOCK_POOLS,
    STORAGE_CLASSES,
)
from controller.namespaces import Namespaces
from controller.runtime import (
    Cache,
    IndexFunction,
    Kind,
    Object,
    ObjectKey,
)
from shared.k8s.deployment import Deployment, ReplicaSet
from shared.k8s.node import Node
from shared.k8s.pod import Pod
from shared.v1alpha1 import wellknown
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.storage_lock import parse_storage_lock

T = TypeVar("T", bound=Object)

# Indexes: which objects are found by which value.
BY_UNIT: Final = "unit"  # pods by the name of their unit
BY_NODE: Final = "node"  # pods by the node that they are on or nominated to
BY_OWNER: Final = "owner"  # replica sets by the uid of their Deployment
BY_UID: Final = "uid"  # units by their uid
BY_POOL: Final = "pool"  # units by the name of their pool
BY_SOURCE_STOCK_UID: Final = "source"  # units by the uid of their source stock
BY_OPERATION: Final = "operation"  # units by the id of the operation that created or claims them
BY_STORAGE: Final = "storage"  # units by the name of a storage that they mount
BY_FUNCTION: Final = "function"  # units by the name of their function
BY_PVC: Final = "claim"  # pods and pod owners by the PVCs that they use
BY_LOCK_OPERATION: Final = "lock"  # storages by the id of the operation that holds the lock
BY_LOCK_UNIT: Final = "holder"  # storages by the name of the unit that holds the lock
BY_COPY_SOURCE: Final = "origin"  # storages by the name of the storage that they copy


class CacheProvider(Protocol):
    """Creates the cache of a kind, as a Manager does."""

    def cache(
        self,
        kind: Kind[T],
        namespaces: Sequence[str] | None = None,
        indexers: Mapping[str, IndexFunction[T]] | None = None,
    ) -> Cache[T]:
        """Create the cache of `kind`."""
        ...


class Caches:
    """The caches of all kinds, shared by all reconcilers."""

    def __init__(self, provider: CacheProvider, namespaces: Namespaces) -> None:
        cache = provider.cache
        self.units = cache(GPU_UNITS, namespaces.units, UNIT_INDEXERS)
        self.pools = cache(STOCK_POOLS, [namespaces.stock])
        self.storages = cache(GPU_STORAGES, [namespaces.instance], STORAGE_INDEXERS)
        self.functions = cache(FUNCTIONS, [namespaces.instance])
        self.operations = cache(OPERATIONS, [namespaces.system])
        self.deployments = cache(DEPLOYMENTS, namespaces.units, {BY_PVC: deployment_pvc_names})
        self.replica_sets = cache(REPLICA_SETS, namespaces.units, REPLICA_SET_INDEXERS)
        self.pods = cache(PODS, namespaces.units, POD_INDEXERS)
        self.services = cache(SERVICES, [namespaces.instance])
        self.network_policies = cache(NETWORK_POLICIES, namespaces.units)
        self.jobs = cache(JOBS, [namespaces.instance])
        self.pvcs = cache(PERSISTENT_VOLUME_CLAIMS, [namespaces.instance])
        self.storage_classes = cache(STORAGE_CLASSES)
        self.nodes = cache(NODES)

    def nodes_of(self, pods: Iterable[Pod]) -> dict[str, Node]:
        """Return the nodes of `pods`, without those that are not in the cache."""
        return self.nodes_by_name(pod.spec.node_name for pod in pods)

    def nodes_by_name(self, names: Iterable[str]) -> dict[str, Node]:
        """Return the nodes of these names, without those that are not in the cache."""
        nodes = {name: self.node(name) for name in names}
        return {name: node for name, node in nodes.items() if node is not None}

    def node(self, name: str) -> Node | None:
        return self.nodes.get(ObjectKey("", name))

    def function_of(self, unit: GPUUnit) -> Function | None:
        """Return the function that the unit works for; None if there is none."""
        names = function_names(unit)
        functions = (self.functions.get(ObjectKey(unit.metadata.namespace, name)) for name in names)
        return next(functions, None)


def controller_uids(replica_set: ReplicaSet) -> Iterable[str]:
    return [owner.uid for owner in replica_set.metadata.owner_references if owner.controller]


def replica_set_pvc_names(replica_set: ReplicaSet) -> Iterable[str]:
    """Return the PVC names of the pod template; empty for a revision without replicas."""
    return replica_set.spec.template.spec.pvc_names if replica_set.spec.replicas else ()


def deployment_pvc_names(deployment: Deployment) -> Iterable[str]:
    volumes = deployment.spec.get("template", {}).get("spec", {}).get("volumes", ())
    sources = (volume.get("persistentVolumeClaim", {}) for volume in volumes)
    return [source["claimName"] for source in sources if "claimName" in source]


def lock_operation_ids(storage: GPUStorage) -> Iterable[str]:
    lock = parse_storage_lock(storage.metadata.annotations)
    return [] if lock is None or not lock.operation else [lock.operation]


def lock_unit_names(storage: GPUStorage) -> Iterable[str]:
    lock = parse_storage_lock(storage.metadata.annotations)
    return [] if lock is None or not lock.unit else [lock.unit]


def copy_source_names(storage: GPUStorage) -> Iterable[str]:
    prepare = storage.spec.prepare
    return [] if prepare is None or not prepare.from_storage_name else [prepare.from_storage_name]


def function_names(unit: GPUUnit) -> Iterable[str]:
    return [] if unit.spec.serverless is None else [unit.spec.serverless.function_name]


def operation_ids(unit: GPUUnit) -> Iterable[str]:
    ids = values_at(unit.metadata.annotations, wellknown.OPERATION_ID_ANNOTATION)
    return [*ids, *values_at(unit.metadata.annotations, wellknown.CLAIM_OPERATION_ANNOTATION)]


def values_at(mapping: Mapping[str, str], key: str) -> Iterable[str]:
    return [mapping[key]] if key in mapping else []


POD_INDEXERS: Final[Mapping[str, IndexFunction[Pod]]] = {
    BY_UNIT: lambda pod: values_at(pod.metadata.labels, wellknown.UNIT_LABEL),
    BY_NODE: lambda pod: filter(None, [pod.spec.node_name or pod.status.nominated_node_name]),
    BY_PVC: lambda pod: pod.spec.pvc_names,
}
REPLICA_SET_INDEXERS: Final[Mapping[str, IndexFunction[ReplicaSet]]] = {
    BY_OWNER: controller_uids,
    BY_PVC: replica_set_pvc_names,
}
STORAGE_INDEXERS: Final[Mapping[str, IndexFunction[GPUStorage]]] = {
    BY_LOCK_OPERATION: lock_operation_ids,
    BY_LOCK_UNIT: lock_unit_names,
    BY_COPY_SOURCE: copy_source_names,
}
UNIT_INDEXERS: Final[Mapping[str, IndexFunction[GPUUnit]]] = {
    BY_UID: lambda unit: [unit.metadata.uid],
    BY_POOL: lambda unit: values_at(unit.metadata.labels, wellknown.POOL_LABEL),
    BY_SOURCE_STOCK_UID: lambda unit: values_at(
        unit.metadata.annotations, wellknown.SOURCE_STOCK_UID_ANNOTATION
    ),
    BY_OPERATION: operation_ids,
    BY_FUNCTION: function_names,
    BY_STORAGE: lambda unit: [mount.name for mount in unit.spec.storage_mounts],
}
