"""The kinds that the controller reads and writes."""

from typing import Final

from controller.runtime.kind import Kind
from shared.deployment import Deployment, ReplicaSet
from shared.job import Job
from shared.network_policy import NetworkPolicy
from shared.node import Node
from shared.pod import Pod
from shared.service import Service
from shared.storage_class import StorageClass
from shared.v1alpha1 import function, gpustorage, gpuunit, operation, stockpool
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.group import GROUP, VERSION
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.stockpool import StockPool
from shared.volume_claim import VolumeClaim

GPU_UNITS: Final = Kind(GROUP, VERSION, gpuunit.PLURAL, gpuunit.KIND, GPUUnit)
STOCK_POOLS: Final = Kind(GROUP, VERSION, stockpool.PLURAL, stockpool.KIND, StockPool)
GPU_STORAGES: Final = Kind(GROUP, VERSION, gpustorage.PLURAL, gpustorage.KIND, GPUStorage)
FUNCTIONS: Final = Kind(GROUP, VERSION, function.PLURAL, function.KIND, Function)
OPERATIONS: Final = Kind(GROUP, VERSION, operation.PLURAL, operation.KIND, Operation)

DEPLOYMENTS: Final = Kind("apps", "v1", "deployments", "Deployment", Deployment)
REPLICA_SETS: Final = Kind("apps", "v1", "replicasets", "ReplicaSet", ReplicaSet)
JOBS: Final = Kind("batch", "v1", "jobs", "Job", Job)
PODS: Final = Kind("", "v1", "pods", "Pod", Pod)
SERVICES: Final = Kind("", "v1", "services", "Service", Service)
NETWORK_POLICIES: Final = Kind(
    "networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", NetworkPolicy
)
VOLUME_CLAIMS: Final = Kind(
    "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", VolumeClaim
)
STORAGE_CLASSES: Final = Kind(
    "storage.k8s.io", "v1", "storageclasses", "StorageClass", StorageClass, namespaced=False
)
NODES: Final = Kind("", "v1", "nodes", "Node", Node, namespaced=False)
