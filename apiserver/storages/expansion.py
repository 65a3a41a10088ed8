"""Whether a storage can grow, as far as its StorageClass tells."""

from collections.abc import Iterable
from typing import Final

from shared.k8s.storage_class import StorageClass

DEFAULT_CLASS_ANNOTATION: Final = "storageclass.kubernetes.io/is-default-class"


def is_expansion_forbidden(class_name: str | None, storage_classes: Iterable[StorageClass]) -> bool:
    """Whether volumes of the class are known not to grow; empty is the cluster's default.

    Without a name the controller's configuration decides, which nobody here knows before the
    storage has its claim.
    """
    if class_name is None:
        return False
    chosen = [each for each in storage_classes if is_selected_class(each, class_name)]
    return bool(chosen) and not any(each.allow_volume_expansion for each in chosen)


def is_selected_class(storage_class: StorageClass, name: str) -> bool:
    if name:
        return storage_class.metadata.name == name
    return storage_class.metadata.annotations.get(DEFAULT_CLASS_ANNOTATION) == "true"
