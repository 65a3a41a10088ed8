"""The rules and merge keys of custom resources that model types cannot express."""

from collections.abc import Mapping
from typing import Final

from shared.k8s.meta import Condition
from shared.v1alpha1 import function, gpustorage, operation
from shared.v1alpha1.mount import StorageMount
from shared.v1alpha1.template import EnvVar, Port

# Lists of these types are maps: server-side apply merges their entries by this key.
LIST_MAP_KEYS: Final[Mapping[type, str]] = {
    Condition: "type",
    EnvVar: "name",
    Port: "name",
    StorageMount: "name",
}
SET_FIELDS: Final = frozenset({"imagePullSecrets"})

# CEL rules with their messages, by model.
CEL_RULES: Final[Mapping[type, tuple[tuple[str, str], ...]]] = {
    gpustorage.GPUStorageSpec: (
        (
            "has(self.prepare) == has(oldSelf.prepare)"
            " && (!has(self.prepare) || self.prepare == oldSelf.prepare)",
            "prepare cannot be changed",
        ),
    ),
    gpustorage.PrepareSpec: (
        (
            "has(self.fromImage) != has(self.fromStorageName)",
            "must have either fromImage or fromStorageName",
        ),
        (
            "has(self.fromImage) || !(has(self.command) || has(self.args))",
            "command and args require fromImage",
        ),
    ),
    operation.OperationSpec: (
        ("self.operationID == oldSelf.operationID", "operationID cannot be changed"),
        ("self.type == oldSelf.type", "type cannot be changed"),
        ("self.requestHash == oldSelf.requestHash", "requestHash cannot be changed"),
    ),
    function.FunctionSpec: (
        (
            "!has(self.storageMounts) || size(self.storageMounts) == 0 || self.maxWorkers == 1",
            "storageMounts require maxWorkers 1",
        ),
    ),
}

LABEL_NAME_RULE: Final = (
    "size(self.metadata.name) <= 63"
    " && self.metadata.name.matches('^[a-z0-9]([a-z0-9-]*[a-z0-9])?$')",
    "metadata.name must be a DNS-1123 label of at most 63 characters",
)
FUNCTION_NAME_RULE: Final = (
    "self.metadata.name.matches('^[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$')",
    "metadata.name must be a DNS-1123 label of at most 48 characters",
)
