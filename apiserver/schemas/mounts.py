"""How the storages of a unit look on the wire."""

from collections.abc import Sequence
from typing import Any

from apiserver.schemas.fields import ListOf, Part, Text, YesNo
from apiserver.schemas.names import NAME_RULES, PATH_RULES
from apiserver.schemas.part import PartSchema
from apiserver.schemas.request import by_rule
from shared.v1alpha1.gpuunit import GPUUnitSpec
from shared.v1alpha1.mount import StorageMount
from shared.v1alpha1.validation.mounts import mount_problems
from shared.v1alpha1.validation.problem import Problem


class StorageMountSchema(PartSchema[StorageMount]):
    """Which storage, and where its files are seen."""

    model = StorageMount
    name = Text(required=True, metadata=NAME_RULES)
    mount_path = Text(required=True, metadata=PATH_RULES)
    read_only = YesNo()


def _problems(mounts: tuple[StorageMount, ...]) -> Sequence[Problem]:
    return mount_problems(GPUUnitSpec(spec_name="any", storage_mounts=mounts))


class StorageMounts(ListOf):
    """Storages whose files a unit sees."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            Part(StorageMountSchema), validate=by_rule(_problems, "storageMounts"), **options
        )
