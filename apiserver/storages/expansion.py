"""Whether a storage can grow, as far as its StorageClass tells."""

from collections.abc import Iterable
from typing import Final

from shared.k8s.storage_class import StorageClass

DEFAULT: Final = "storageclass.kubernetes.io/is-default-class"


def is_fixed(class_name: str | None, classes: Iterable[StorageClass]) -> bool:
    """Whether volumes of the class are known not to grow; empty is the cluster's default.

    Without a name the controller's configuration decides, which nobody here knows before the
    storage has its claim.
    """
    if class_name is None:
        return False
    chosen = [each for each in classes if is_chosen(each, class_name)]
    return bool(chosen) and not any(each.allow_volume_expansion for each in chosen)


def is_chosen(each: StorageClass, name: str) -> bool:
    if name:
        return each.metadata.name == name
    return each.metadata.annotations.get(DEFAULT) == "true"
