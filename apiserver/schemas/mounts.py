"""Schemas of the mounts of a unit."""

from collections.abc import Sequence
from typing import Any

from apiserver.schemas.fields import StrictBoolean, StrictList, StrictNested, StrictString
from apiserver.schemas.names import NAME_RULES, PATH_RULES
from apiserver.schemas.request import ModelSchema, rule_validator
from shared.v1alpha1.gpuunit import GPUUnitSpec
from shared.v1alpha1.mount import StorageMount
from shared.v1alpha1.validation.mounts import mount_problems
from shared.v1alpha1.validation.problem import Problem


class StorageMountSchema(ModelSchema[StorageMount]):
    """A storage, and the path of its files in the unit."""

    model = StorageMount
    name = StrictString(required=True, metadata=NAME_RULES)
    mount_path = StrictString(required=True, metadata=PATH_RULES)
    read_only = StrictBoolean()


def _mount_problems(mounts: tuple[StorageMount, ...]) -> Sequence[Problem]:
    return mount_problems(GPUUnitSpec(spec_name="any", storage_mounts=mounts))


class StorageMountsField(StrictList):
    """The storages whose files are mounted into a unit."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            StrictNested(StorageMountSchema),
            validate=rule_validator(_mount_problems, "storageMounts"),
            **options,
        )
