"""The one word for how far along an object is; clients filter by it."""

from enum import StrEnum


class UnitPhase(StrEnum):
    """How far along a GPUUnit is; Failed does not heal by waiting."""

    PROGRESSING = "Progressing"
    READY = "Ready"
    FAILED = "Failed"


class WorkerPhase(StrEnum):
    """How far along a GPUUnit is as the worker of a function."""

    PENDING = "Pending"
    STARTING = "Starting"
    READY = "Ready"
    FAILED = "Failed"


class PoolPhase(StrEnum):
    """How far along a StockPool is."""

    READY = "Ready"
    PROGRESSING = "Progressing"
    SCALED_TO_ZERO = "ScaledToZero"
    DEGRADED = "Degraded"
    FAILED = "Failed"


class StoragePhase(StrEnum):
    """How far along a GPUStorage is."""

    PENDING = "Pending"
    READY = "Ready"
    FAILED = "Failed"


class PreparePhase(StrEnum):
    """How far along the filling of a GPUStorage is."""

    NOT_REQUESTED = "NotRequested"
    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class AccessorPhase(StrEnum):
    """How far along the browsing of a GPUStorage is."""

    DISABLED = "Disabled"
    PENDING = "Pending"
    READY = "Ready"
    FAILED = "Failed"


class OperationPhase(StrEnum):
    """How far along an Operation is; Succeeded is final, Failed may be restarted."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class FunctionPhase(StrEnum):
    """How far along a Function is."""

    IDLE = "Idle"
    SCALING = "Scaling"
    READY = "Ready"
    DEGRADED = "Degraded"
    FAILED = "Failed"
