"""Labels, annotations and finalizers by which our programs know each other's objects."""

from typing import Final

PREFIX: Final = "runtime.lokiwager.io/"

UNIT_LABEL: Final = f"{PREFIX}unit"
STORAGE_LABEL: Final = f"{PREFIX}storage"
OPERATION_LABEL: Final = f"{PREFIX}operation"
CLAIMED_LABEL: Final = f"{PREFIX}claimed"
POOL_LABEL: Final = f"{PREFIX}pool"
FUNCTION_LABEL: Final = f"{PREFIX}function"
APP_NAME_LABEL: Final = "app.kubernetes.io/name"
MANAGED_BY_LABEL: Final = "app.kubernetes.io/managed-by"
MANAGED_BY: Final = "gpu-runtime"

OPERATION_ID: Final = f"{PREFIX}operation-id"
REQUEST_HASH: Final = f"{PREFIX}request-hash"
STOCK_ORDINAL: Final = f"{PREFIX}stock-ordinal"
LISTED: Final = f"{PREFIX}listed"
ADMITTED: Final = f"{PREFIX}admitted"
APPLIED_HASH: Final = f"{PREFIX}applied-hash"
CLAIMED_BY: Final = f"{PREFIX}claimed-by"
CLAIM_OPERATION: Final = f"{PREFIX}claim-operation"
CLAIMED_AT: Final = f"{PREFIX}claimed-at"
SOURCE_STOCK_NAME: Final = f"{PREFIX}source-stock-name"
SOURCE_STOCK_NAMESPACE: Final = f"{PREFIX}source-stock-namespace"
SOURCE_STOCK_UID: Final = f"{PREFIX}source-stock-uid"
MOUNTED_BY: Final = f"{PREFIX}mounted-by"
BEGUN_BY: Final = f"{PREFIX}begun-by"
ATTEMPT: Final = f"{PREFIX}attempt"
RECOVER: Final = f"{PREFIX}recover"
ON_DELETE: Final = f"{PREFIX}on-delete"

MOUNT_FINALIZER: Final = f"{PREFIX}mount-protection"
OUTCOME_FINALIZER: Final = f"{PREFIX}outcome"
QUEUE_FINALIZER: Final = f"{PREFIX}queue"

DRAIN: Final = "drain"
PURGE: Final = "purge"

STOCK_PRIORITY: Final = "gpu-runtime-stock"
ACTIVE_PRIORITY: Final = "gpu-runtime-active"
