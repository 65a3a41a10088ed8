"""The words in which our objects and Events say how they are."""

from enum import StrEnum


class ConditionType(StrEnum):
    """What a condition is about."""

    READY = "Ready"
    PREPARED = "Prepared"
    ACCESSOR_READY = "AccessorReady"
    SERVERLESS_READY = "ServerlessReady"


class UnitReason(StrEnum):
    """Why a GPUUnit is Ready or not."""

    STOCK_READY = "StockReady"
    STOCK_NOT_READY = "StockNotReady"
    STOCK_CLAIMED = "StockClaimed"
    UNIT_READY = "UnitReady"
    UNIT_PROGRESSING = "UnitProgressing"
    POD_STARTUP_FAILED = "PodStartupFailed"
    POD_UNSCHEDULABLE = "PodUnschedulable"
    NODE_LOST = "NodeLost"
    STORAGE_NOT_READY = "StorageNotReady"
    STORAGE_MOUNT_INVALID = "StorageMountInvalid"
    INVALID_SPEC = "InvalidSpec"
    ACCESS_CONFIG_INVALID = "AccessConfigInvalid"
    DEPLOYMENT_SYNC_FAILED = "UnitDeploymentSyncFailed"
    SERVICE_SYNC_FAILED = "UnitServiceSyncFailed"
    NETWORK_POLICY_SYNC_FAILED = "UnitNetworkPolicySyncFailed"
    CHILD_CONFLICT = "ChildConflict"
    STOCK_LOST = "StockLost"
    STORAGE_IN_USE = "StorageInUse"
    SERVERLESS_CONFIG_INVALID = "ServerlessConfigInvalid"


class WorkerReason(StrEnum):
    """Why a GPUUnit is ServerlessReady or not."""

    WORKER_READY = "WorkerReady"
    WORKER_STARTING = "WorkerStarting"
    WORKER_NOT_READY = "WorkerNotReady"
    WORKER_FAILED = "WorkerFailed"
    FUNCTION_MISSING = "FunctionMissing"


class PoolReason(StrEnum):
    """Why a StockPool is Ready or not."""

    READY = "PoolReady"
    PROGRESSING = "PoolProgressing"
    SCALED_TO_ZERO = "ScaledToZero"
    INSUFFICIENT_NODES = "InsufficientNodes"
    INVALID_SPEC = "InvalidSpec"


class StorageReason(StrEnum):
    """Why a GPUStorage is Ready or not."""

    READY = "StorageReady"
    VOLUME_PENDING = "VolumePending"
    VOLUME_LOST = "VolumeLost"
    EXPANSION_NOT_SUPPORTED = "ExpansionNotSupported"
    NOT_PREPARED = "NotPrepared"
    PREPARE_FAILED = "PrepareFailed"
    INVALID_SPEC = "InvalidSpec"
    CHILD_CONFLICT = "ChildConflict"
    PVC_SYNC_FAILED = "ClaimSyncFailed"
    PREPARE_SYNC_FAILED = "PrepareSyncFailed"
    ACCESSOR_SYNC_FAILED = "AccessorSyncFailed"


class FunctionReason(StrEnum):
    """Why a Function is Ready or not."""

    IDLE = "FunctionIdle"
    READY = "FunctionReady"
    SCALING = "FunctionScaling"
    INSUFFICIENT_STOCK = "InsufficientStock"
    WORKER_FAILED = "WorkerFailed"
    WORKER_REFUSED = "WorkerRefused"
    INVALID_SPEC = "InvalidSpec"
    ENDING = "FunctionEnding"


class EventReason(StrEnum):
    """What an Event tells of."""

    CREATED = "Created"
    UPDATED = "Updated"
    DELETED = "Deleted"
    READY = "Ready"
    NOT_READY = "NotReady"
    CLAIMED = "Claimed"
    RELEASED = "Released"
    CONSUMED = "Consumed"
    STRAY_DELETED = "StrayDeleted"
    INVALID_SPEC = "InvalidSpec"
    FAILED = "Failed"
    CHILD_CONFLICT = "ChildConflict"
    IGNORED = "Ignored"
    SCALED_UP = "ScaledUp"
    SCALED_DOWN = "ScaledDown"
    PREPARED = "Prepared"
    PREPARE_FAILED = "PrepareFailed"
    EXPANDED = "Expanded"
