"""Tests of patches: an absent field is kept, an object is replaced as a whole, null clears."""

from typing import Any

import msgspec

from apiserver.units.commands import ChangeUnit
from apiserver.units.patch import change_patch, changed_spec
from shared.v1alpha1.gpuunit import GPUUnit, UnitAccess
from shared.v1alpha1.template import EnvVar, Port, WorkloadTemplate
from tests.model.server import apply_merge_patch

UNIT = msgspec.convert(
    {
        "metadata": {
            "name": "mine",
            "uid": "u",
            "resourceVersion": "7",
            "labels": {"team": "a", "old": "x", "runtime.lokiwager.io/operation": "op"},
        },
        "spec": {
            "specName": "g1.1",
            "image": "a:1",
            "template": {
                "command": ["run"],
                "envs": [{"name": "A", "value": "1"}],
                "ports": [{"name": "http", "port": 80}],
            },
            "access": {"primaryPort": "http", "scheme": "https"},
            "storageMounts": [{"name": "data", "mountPath": "/data"}],
        },
    },
    GPUUnit,
)


def patched_unit(command: ChangeUnit) -> dict[str, Any]:
    """Return the unit as the server would store it after the patch."""
    patch = msgspec.json.decode(msgspec.json.encode(change_patch(UNIT, command)))
    result: dict[str, Any] = apply_merge_patch(msgspec.to_builtins(UNIT), patch)
    return result


def test_absent_fields_of_a_unit_change_keep_their_values() -> None:
    changed = patched_unit(ChangeUnit("mine", image="a:2"))
    assert changed["spec"] == {**msgspec.to_builtins(UNIT.spec), "image": "a:2"}
    assert changed["metadata"]["labels"] == UNIT.metadata.labels


def test_an_object_in_a_unit_change_replaces_the_whole_stored_object() -> None:
    template = WorkloadTemplate(ports=(Port(name="ssh", port=22),))
    changed = patched_unit(
        ChangeUnit("mine", template=template, access=UnitAccess(primary_port="ssh"))
    )
    assert changed["spec"]["template"] == {"ports": [{"name": "ssh", "port": 22}]}
    assert changed["spec"]["access"] == {"primaryPort": "ssh"}


def test_null_fields_of_a_unit_change_are_cleared() -> None:
    changed = patched_unit(
        ChangeUnit("mine", template=None, access=None, storage_mounts=None, labels=None)
    )
    assert set(changed["spec"]) == {"specName", "image"}
    assert changed["metadata"]["labels"] == {"runtime.lokiwager.io/operation": "op"}


def test_changed_labels_replace_the_user_labels_only() -> None:
    changed = patched_unit(ChangeUnit("mine", labels={"team": "b", "new": "y"}))
    expected = {"team": "b", "new": "y", "runtime.lokiwager.io/operation": "op"}
    assert changed["metadata"]["labels"] == expected


def test_a_unit_patch_has_uid_and_resource_version_preconditions() -> None:
    metadata = change_patch(UNIT, ChangeUnit("mine", image="a:2"))["metadata"]
    assert metadata == {"uid": "u", "resourceVersion": "7"}


def test_the_changed_spec_has_the_new_and_the_kept_fields() -> None:
    spec = changed_spec(
        UNIT, ChangeUnit("mine", template=WorkloadTemplate(envs=(EnvVar(name="B"),)))
    )
    assert (spec.image, spec.template) == ("a:1", WorkloadTemplate(envs=(EnvVar(name="B"),)))
    assert changed_spec(UNIT, ChangeUnit("mine", storage_mounts=None)).storage_mounts == ()
