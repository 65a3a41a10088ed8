"""The phases of our objects; clients filter by them."""

from enum import StrEnum


class UnitPhase(StrEnum):
    """The phase of a GPUUnit; for Failed, waiting does not help."""

    PROGRESSING = "Progressing"
    READY = "Ready"
    FAILED = "Failed"


class WorkerPhase(StrEnum):
    """The phase of a GPUUnit as the worker of a function."""

    PENDING = "Pending"
    STARTING = "Starting"
    READY = "Ready"
    FAILED = "Failed"


class PoolPhase(StrEnum):
    """The phase of a StockPool."""

    READY = "Ready"
    PROGRESSING = "Progressing"
    SCALED_TO_ZERO = "ScaledToZero"
    DEGRADED = "Degraded"
    FAILED = "Failed"


class StoragePhase(StrEnum):
    """The phase of a GPUStorage."""

    PENDING = "Pending"
    READY = "Ready"
    FAILED = "Failed"


class PreparePhase(StrEnum):
    """The phase of the preparation of a GPUStorage."""

    NOT_REQUESTED = "NotRequested"
    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class AccessorPhase(StrEnum):
    """The phase of the accessor of a GPUStorage."""

    DISABLED = "Disabled"
    PENDING = "Pending"
    READY = "Ready"
    FAILED = "Failed"


class OperationPhase(StrEnum):
    """The phase of an Operation; Succeeded is final, Failed may be restarted."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class FunctionPhase(StrEnum):
    """The phase of a Function."""

    IDLE = "Idle"
    SCALING = "Scaling"
    READY = "Ready"
    DEGRADED = "Degraded"
    FAILED = "Failed"
