"""The types and reasons of the conditions and Events of our objects."""

from enum import StrEnum


class ConditionType(StrEnum):
    """The type of a condition."""

    READY = "Ready"
    PREPARED = "Prepared"
    ACCESSOR_READY = "AccessorReady"
    SERVERLESS_READY = "ServerlessReady"


class UnitReason(StrEnum):
    """The reasons of the condition Ready of a GPUUnit."""

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
    """The reasons of the condition ServerlessReady of a GPUUnit."""

    WORKER_READY = "WorkerReady"
    WORKER_STARTING = "WorkerStarting"
    WORKER_NOT_READY = "WorkerNotReady"
    WORKER_FAILED = "WorkerFailed"
    FUNCTION_MISSING = "FunctionMissing"


class PoolReason(StrEnum):
    """The reasons of the condition Ready of a StockPool."""

    READY = "PoolReady"
    PROGRESSING = "PoolProgressing"
    SCALED_TO_ZERO = "ScaledToZero"
    INSUFFICIENT_NODES = "InsufficientNodes"
    INVALID_SPEC = "InvalidSpec"


class StorageReason(StrEnum):
    """The reasons of the condition Ready of a GPUStorage."""

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
    """The reasons of the condition Ready of a Function."""

    IDLE = "FunctionIdle"
    READY = "FunctionReady"
    SCALING = "FunctionScaling"
    INSUFFICIENT_STOCK = "InsufficientStock"
    WORKER_FAILED = "WorkerFailed"
    WORKER_REFUSED = "WorkerRefused"
    INVALID_SPEC = "InvalidSpec"
    ENDING = "FunctionEnding"


class EventReason(StrEnum):
    """The reasons of Events."""

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
