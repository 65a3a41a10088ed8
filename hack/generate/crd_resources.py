"""Columns, selectable fields and scale of our custom resources."""

from dataclasses import dataclass
from typing import Final

import msgspec

from hack.generate.crd_rules import FUNCTION_NAME_RULE, LABEL_NAME_RULE
from shared.v1alpha1 import function, gpustorage, gpuunit, operation, stockpool
from shared.v1alpha1.wellknown import SOURCE_STOCK_NAME_ANNOTATION


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A column of `kubectl get`; a wide one is shown with `-o wide`."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False


@dataclass(frozen=True, slots=True)
class CustomResource:
    """The parts of a CustomResourceDefinition besides the schema."""

    model: type[msgspec.Struct]
    plural: str
    short_name: str
    columns: tuple[PrinterColumn, ...]
    selectable: tuple[str, ...]
    name_rule: tuple[str, str] = LABEL_NAME_RULE
    scale: tuple[tuple[str, str], ...] = ()


PHASE: Final = PrinterColumn("Phase", ".status.phase")
AGE: Final = PrinterColumn("Age", ".metadata.creationTimestamp", "date")
SPEC: Final = PrinterColumn("Spec", ".spec.specName")
REASON: Final = PrinterColumn("Reason", '.status.conditions[?(@.type=="Ready")].reason')
SOURCE: Final = PrinterColumn(
    "Source", ".metadata.annotations." + SOURCE_STOCK_NAME_ANNOTATION.replace(".", r"\."), wide=True
)
BY_SPEC_AND_PHASE: Final = (".spec.specName", ".status.phase")

GPU_UNIT: Final = CustomResource(
    gpuunit.GPUUnit,
    gpuunit.PLURAL,
    "gu",
    (
        SPEC,
        PHASE,
        REASON,
        PrinterColumn("Access", ".status.accessURL"),
        PrinterColumn("GPU", ".spec.gpu", "integer", wide=True),
        PrinterColumn("Memory", ".spec.memory", wide=True),
        PrinterColumn("Node", ".status.nodeName", wide=True),
        SOURCE,
        AGE,
    ),
    BY_SPEC_AND_PHASE,
)
STOCK_POOL: Final = CustomResource(
    stockpool.StockPool,
    stockpool.PLURAL,
    "sp",
    (
        SPEC,
        PrinterColumn("Desired", ".spec.replicas", "integer"),
        PrinterColumn("Available", ".status.available", "integer"),
        PrinterColumn("Allocated", ".status.allocated", "integer"),
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
GPU_STORAGE: Final = CustomResource(
    gpustorage.GPUStorage,
    gpustorage.PLURAL,
    "gs",
    (
        PrinterColumn("Size", ".spec.size"),
        PrinterColumn("Capacity", ".status.capacity"),
        PHASE,
        PrinterColumn("Mounted by", ".status.mountedBy"),
        AGE,
    ),
    (".status.phase",),
)
OPERATION: Final = CustomResource(
    operation.Operation,
    operation.PLURAL,
    "op",
    (
        PrinterColumn("Operation", ".spec.operationID"),
        PrinterColumn("Type", ".spec.type"),
        PHASE,
        PrinterColumn("Created", ".status.created", "integer"),
        AGE,
    ),
    (".spec.type", ".status.phase"),
)
FUNCTION: Final = CustomResource(
    function.Function,
    function.PLURAL,
    "fn",
    (
        SPEC,
        PrinterColumn("Workers", ".status.workers", "integer"),
        PrinterColumn("Ready", ".status.readyWorkers", "integer"),
        PrinterColumn("Queued", ".status.queued", "integer"),
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
