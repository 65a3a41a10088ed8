"""Settings common to all storages."""

from dataclasses import dataclass

from controller.namespaces import Namespaces


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """Settings from the configuration; an empty `default_class` means the cluster's default."""

    namespaces: Namespaces
    default_storage_class_name: str
    prepare_deadline_seconds: int
    copy_image: str
    accessor_image: str
    cluster_domain: str
    private_ranges: tuple[str, ...]
