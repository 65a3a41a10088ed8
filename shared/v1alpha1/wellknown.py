"""Labels, annotations and finalizers by which our programs recognise each other's objects."""

from typing import Final

KEY_PREFIX: Final = "runtime.lokiwager.io/"

UNIT_LABEL: Final = f"{KEY_PREFIX}unit"
STORAGE_LABEL: Final = f"{KEY_PREFIX}storage"
OPERATION_LABEL: Final = f"{KEY_PREFIX}operation"
CLAIMED_LABEL: Final = f"{KEY_PREFIX}claimed"
POOL_LABEL: Final = f"{KEY_PREFIX}pool"
FUNCTION_LABEL: Final = f"{KEY_PREFIX}function"
APP_NAME_LABEL: Final = "app.kubernetes.io/name"
MANAGED_BY_LABEL: Final = "app.kubernetes.io/managed-by"
MANAGED_BY_VALUE: Final = "gpu-runtime"

OPERATION_ID_ANNOTATION: Final = f"{KEY_PREFIX}operation-id"
REQUEST_HASH_ANNOTATION: Final = f"{KEY_PREFIX}request-hash"
STOCK_ORDINAL_ANNOTATION: Final = f"{KEY_PREFIX}stock-ordinal"
LISTED_ANNOTATION: Final = f"{KEY_PREFIX}listed"
ADMITTED_ANNOTATION: Final = f"{KEY_PREFIX}admitted"
APPLIED_HASH_ANNOTATION: Final = f"{KEY_PREFIX}applied-hash"
CLAIMED_BY_ANNOTATION: Final = f"{KEY_PREFIX}claimed-by"
CLAIM_OPERATION_ANNOTATION: Final = f"{KEY_PREFIX}claim-operation"
CLAIMED_AT_ANNOTATION: Final = f"{KEY_PREFIX}claimed-at"
SOURCE_STOCK_NAME_ANNOTATION: Final = f"{KEY_PREFIX}source-stock-name"
SOURCE_STOCK_NAMESPACE_ANNOTATION: Final = f"{KEY_PREFIX}source-stock-namespace"
SOURCE_STOCK_UID_ANNOTATION: Final = f"{KEY_PREFIX}source-stock-uid"
MOUNTED_BY_ANNOTATION: Final = f"{KEY_PREFIX}mounted-by"
BEGUN_BY_ANNOTATION: Final = f"{KEY_PREFIX}begun-by"
ATTEMPT_ANNOTATION: Final = f"{KEY_PREFIX}attempt"
RECOVER_ANNOTATION: Final = f"{KEY_PREFIX}recover"
ON_DELETE_ANNOTATION: Final = f"{KEY_PREFIX}on-delete"

MOUNT_FINALIZER: Final = f"{KEY_PREFIX}mount-protection"
OUTCOME_FINALIZER: Final = f"{KEY_PREFIX}outcome"
QUEUE_FINALIZER: Final = f"{KEY_PREFIX}queue"

ON_DELETE_DRAIN: Final = "drain"
ON_DELETE_PURGE: Final = "purge"

STOCK_PRIORITY_CLASS: Final = "gpu-runtime-stock"
ACTIVE_PRIORITY_CLASS: Final = "gpu-runtime-active"
