"""Kinds that the controller reads and writes."""

from typing import Final

from controller.runtime import Kind
from shared.k8s.deployment import Deployment, ReplicaSet
from shared.k8s.job import Job
from shared.k8s.network import NetworkPolicy, Service
from shared.k8s.node import Node
from shared.k8s.pod import Pod
from shared.k8s.pvc import PersistentVolumeClaim
from shared.k8s.storage_class import StorageClass
from shared.v1alpha1 import function, gpustorage, gpuunit, operation, stockpool
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.group import GROUP, VERSION
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.stockpool import StockPool

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
PERSISTENT_VOLUME_CLAIMS: Final = Kind(
    "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", PersistentVolumeClaim
)
STORAGE_CLASSES: Final = Kind(
    "storage.k8s.io", "v1", "storageclasses", "StorageClass", StorageClass, namespaced=False
)
NODES: Final = Kind("", "v1", "nodes", "Node", Node, namespaced=False)
