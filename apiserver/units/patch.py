"""Merge patches for units: a given object replaces the whole stored object."""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from apiserver.units.commands import ChangeUnit
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitSpec
from shared.v1alpha1.reserved_labels import is_reserved_label


def changed_spec(unit: GPUUnit, command: ChangeUnit) -> GPUUnitSpec:
    """Return the spec after the change, to validate it."""
    changes = {
        name: value if value is not None else default
        for name, value, default in (
            ("image", command.image, ""),
            ("template", command.template, None),
            ("access", command.access, None),
            ("storage_mounts", command.storage_mounts, ()),
        )
        if not isinstance(value, UnsetType)
    }
    return msgspec.structs.replace(unit.spec, **changes)


def change_patch(unit: GPUUnit, command: ChangeUnit) -> dict[str, Any]:
    """Return the merge patch of a change, at the version of the unit that was read."""
    spec: dict[str, Any] = {}
    if command.image is not UNSET:
        spec["image"] = command.image
    if not isinstance(command.template, UnsetType):
        spec["template"] = replacement_patch(unit.spec.template, command.template)
    if not isinstance(command.access, UnsetType):
        spec["access"] = replacement_patch(unit.spec.access, command.access)
    if not isinstance(command.storage_mounts, UnsetType):
        mounts = command.storage_mounts
        spec["storageMounts"] = None if not mounts else msgspec.to_builtins(mounts)
    metadata: dict[str, Any] = {
        "uid": unit.metadata.uid,
        "resourceVersion": unit.metadata.resource_version,
    }
    if not isinstance(command.labels, UnsetType):
        metadata["labels"] = label_replacement_patch(unit.metadata.labels, command.labels or {})
    return {"metadata": metadata, **({"spec": spec} if spec else {})}


def replacement_patch(
    old: msgspec.Struct | None, new: msgspec.Struct | None
) -> dict[str, Any] | None:
    """Return a patch that replaces `old` by `new`: fields that only `old` has become null."""
    if new is None:
        return None
    old_fields = {} if old is None else msgspec.to_builtins(old)
    return {**dict.fromkeys(old_fields), **msgspec.to_builtins(new)}


def label_replacement_patch(old: dict[str, str], new: dict[str, str]) -> dict[str, str | None]:
    """Return a patch that replaces the labels of the caller; reserved labels stay."""
    removed = [name for name in old if not is_reserved_label(name) and name not in new]
    return {**dict.fromkeys(removed), **new}
