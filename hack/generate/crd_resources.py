"""How our custom resources are listed, found and scaled."""

from dataclasses import dataclass
from typing import Final

import msgspec

from hack.generate.crd_rules import FUNCTION_NAME_RULE, LABEL_RULE
from shared.v1alpha1 import function, gpustorage, gpuunit, operation, stockpool
from shared.v1alpha1.wellknown import SOURCE_STOCK_NAME


@dataclass(frozen=True, slots=True)
class Column:
    """One column of `kubectl get`; a wide one is shown with `-o wide`."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind as its CustomResourceDefinition tells it."""

    model: type[msgspec.Struct]
    plural: str
    short: str
    columns: tuple[Column, ...]
    selectable: tuple[str, ...]
    name_rule: tuple[str, str] = LABEL_RULE
    scale: tuple[tuple[str, str], ...] = ()


PHASE: Final = Column("Phase", ".status.phase")
AGE: Final = Column("Age", ".metadata.creationTimestamp", "date")
SPEC: Final = Column("Spec", ".spec.specName")
REASON: Final = Column("Reason", '.status.conditions[?(@.type=="Ready")].reason')
SOURCE: Final = Column(
    "Source", ".metadata.annotations." + SOURCE_STOCK_NAME.replace(".", r"\."), wide=True
)
BY_SPEC_AND_PHASE: Final = (".spec.specName", ".status.phase")

GPU_UNIT: Final = Resource(
    gpuunit.GPUUnit,
    gpuunit.PLURAL,
    "gu",
    (
        SPEC,
        PHASE,
        REASON,
        Column("Access", ".status.accessURL"),
        Column("GPU", ".spec.gpu", "integer", wide=True),
        Column("Memory", ".spec.memory", wide=True),
        Column("Node", ".status.nodeName", wide=True),
        SOURCE,
        AGE,
    ),
    BY_SPEC_AND_PHASE,
)
STOCK_POOL: Final = Resource(
    stockpool.StockPool,
    stockpool.PLURAL,
    "sp",
    (
        SPEC,
        Column("Desired", ".spec.replicas", "integer"),
        Column("Available", ".status.available", "integer"),
        Column("Allocated", ".status.allocated", "integer"),
        PHASE,
        AGE,
    ),
    BY_SPEC_AND_PHASE,
    scale=(
        ("specReplicasPath", ".spec.replicas"),
        ("statusReplicasPath", ".status.replicas"),
        ("labelSelectorPath", ".status.selector"),
    ),
)
GPU_STORAGE: Final = Resource(
    gpustorage.GPUStorage,
    gpustorage.PLURAL,
    "gs",
    (
        Column("Size", ".spec.size"),
        Column("Capacity", ".status.capacity"),
        PHASE,
        Column("Mounted by", ".status.mountedBy"),
        AGE,
    ),
    (".status.phase",),
)
OPERATION: Final = Resource(
    operation.Operation,
    operation.PLURAL,
    "op",
    (
        Column("Operation", ".spec.operationID"),
        Column("Type", ".spec.type"),
        PHASE,
        Column("Created", ".status.created", "integer"),
        AGE,
    ),
    (".spec.type", ".status.phase"),
)
FUNCTION: Final = Resource(
    function.Function,
    function.PLURAL,
    "fn",
    (
        SPEC,
        Column("Workers", ".status.workers", "integer"),
        Column("Ready", ".status.readyWorkers", "integer"),
        Column("Queued", ".status.queued", "integer"),
        PHASE,
        AGE,
    ),
    BY_SPEC_AND_PHASE,
    FUNCTION_NAME_RULE,
    scale=(
        ("specReplicasPath", ".spec.minWorkers"),
        ("statusReplicasPath", ".status.workers"),
    ),
)
RESOURCES: Final = (GPU_UNIT, STOCK_POOL, GPU_STORAGE, OPERATION, FUNCTION)
