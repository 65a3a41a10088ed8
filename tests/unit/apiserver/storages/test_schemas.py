"""Tests of the schemas of storage requests and of storages in responses."""

from typing import Any

import pytest

from apiserver.storages.commands import ChangeStorage, CreateStorage
from apiserver.storages.schemas import (
    ChangeStorageSchema,
    CreateStorageSchema,
    GPUStorageViewSchema,
)
from shared.k8s.meta import Condition, ObjectMeta
from shared.v1alpha1.gpustorage import (
    AccessorSpec,
    AccessorStatus,
    GPUStorage,
    GPUStorageSpec,
    GPUStorageStatus,
    PrepareSpec,
    PrepareStatus,
)
from shared.v1alpha1.wellknown import MANAGED_BY_LABEL, OPERATION_ID_ANNOTATION
from tests.unit.apiserver.field_errors import field_errors

MINIMAL_BODY = {"name": "data", "size": "1Gi"}
REFUSAL = "cannot be changed; create another storage, prepared from this one"


def test_a_storage_is_read() -> None:
    body = {
        "operationID": "d-1",
        **MINIMAL_BODY,
        "storageClassName": "",
        "prepare": {"fromImage": "fill:1", "command": ["run"], "args": ["--all"]},
        "accessor": {"enabled": True},
        "labels": {"team": "a"},
    }
    assert CreateStorageSchema().parse(body) == CreateStorage(
        "d-1",
        "data",
        "1Gi",
        storage_class_name="",
        prepare=PrepareSpec(from_image="fill:1", command=("run",), args=("--all",)),
        accessor=AccessorSpec(enabled=True),
        labels={"team": "a"},
    )


def test_a_storage_needs_a_name_and_a_size_only() -> None:
    assert CreateStorageSchema().parse(MINIMAL_BODY) == CreateStorage("", "data", "1Gi")
    assert set(field_errors(CreateStorageSchema(), {})) == {"name", "size"}


def test_a_storage_copied_from_another_storage_is_read() -> None:
    command = CreateStorageSchema().parse(
        {**MINIMAL_BODY, "prepare": {"fromStorageName": "origin"}}
    )
    assert command.prepare == PrepareSpec(from_storage_name="origin")


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({"size": "0"}, {"size": '"0" must be greater than 0'}),
        ({"size": 5}, {"size": "is not text"}),
        ({"operationID": ""}, {"operationID"}),
        ({"operationID": None}, {"operationID": "must not be null"}),
        ({"storageClassName": "A b"}, {"storageClassName"}),
        ({"storageClassName": None}, {"storageClassName": "must not be null"}),
        ({"prepare": {}}, {"prepare": "must have either fromImage or fromStorageName"}),
        (
            {"prepare": {"fromImage": "a", "fromStorageName": "b"}},
            {"prepare": "must have either fromImage or fromStorageName"},
        ),
        (
            {"prepare": {"fromStorageName": "b", "args": ["x"]}},
            {"prepare": "command and args require fromImage"},
        ),
        ({"prepare": {"fromStorageName": "data"}}, {"prepare.fromStorageName"}),
        ({"prepare": {"fromImage": "a b"}}, {"prepare.fromImage"}),
        ({"prepare": {"fromImage": "a" * 1025}}, {"prepare.fromImage"}),
        ({"prepare": {"fromImage": "a", "envs": []}}, {"prepare.envs": "there is no such field"}),
        ({"accessor": {}}, {"accessor.enabled": "is required"}),
        ({"accessor": {"enabled": "yes"}}, {"accessor.enabled": "is neither true nor false"}),
        ({"labels": {MANAGED_BY_LABEL: "me"}}, {f"labels['{MANAGED_BY_LABEL}']"}),
        ({"namespace": "x"}, {"namespace": "there is no such field"}),
        ({"size": 5, "prepare": {"fromStorageName": "data"}}, {"size", "prepare.fromStorageName"}),
        (
            {"prepare": {"fromStorageName": "data", "args": ["x"], "envs": []}},
            {"prepare.fromStorageName", "prepare", "prepare.envs"},
        ),
        ({"prepare": {"fromImage": 7, "fromStorageName": "b"}}, {"prepare.fromImage", "prepare"}),
        ({"prepare": {"fromImage": 7}}, {"prepare.fromImage"}),
        ({"prepare": 7}, {"prepare": "is not an object"}),
    ],
)
def test_problems_of_a_storage_are_named_by_field(
    body: dict[str, Any], errors: dict[str, str] | set[str]
) -> None:
    reported = field_errors(CreateStorageSchema(), {**MINIMAL_BODY, **body})
    assert (reported if isinstance(errors, dict) else set(reported)) == errors


def test_a_storage_change_is_read() -> None:
    parse = ChangeStorageSchema().parse
    assert parse({}) == ChangeStorage("")
    assert parse({"size": "2Gi", "labels": {}}) == ChangeStorage("", size="2Gi", labels={})
    assert parse({"accessor": None, "labels": None}) == ChangeStorage(
        "", accessor=None, labels=None
    )


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({"name": "other"}, {"name": REFUSAL}),
        ({"storageClassName": "fast"}, {"storageClassName": REFUSAL}),
        (
            {"prepare": {"fromImage": "b"}},
            {"prepare": "cannot be changed: a storage is prepared once; create another storage"},
        ),
        ({"size": None}, {"size": "must not be null"}),
        ({"operationID": "x"}, {"operationID": "there is no such field"}),
    ],
)
def test_unchangeable_fields_of_a_storage_are_named(
    body: dict[str, Any], errors: dict[str, str]
) -> None:
    assert field_errors(ChangeStorageSchema(), body) == errors


def test_a_new_storage_is_shown_without_unset_fields() -> None:
    new = GPUStorage(
        metadata=ObjectMeta(name="data", namespace="ns", uid="u"), spec=GPUStorageSpec(size="1Gi")
    )
    assert GPUStorageViewSchema().dump(new) == {
        "name": "data",
        "namespace": "ns",
        "uid": "u",
        "size": "1Gi",
    }


def test_a_storage_is_shown_with_its_status() -> None:
    ready = Condition(
        type="Ready", status="False", last_transition_time="t", reason="Why", message="because"
    )
    storage = GPUStorage(
        metadata=ObjectMeta(
            name="data",
            namespace="ns",
            uid="u",
            labels={"team": "a", MANAGED_BY_LABEL: "gpu-runtime"},
            annotations={OPERATION_ID_ANNOTATION: "d-1"},
            creation_timestamp="c",
        ),
        spec=GPUStorageSpec(
            size="2Gi",
            storage_class_name="fast",
            prepare=PrepareSpec(from_storage_name="origin"),
            accessor=AccessorSpec(enabled=True),
        ),
        status=GPUStorageStatus(
            phase="Failed",
            claim_name="data",
            capacity="1Gi",
            prepare=PrepareStatus(phase="Failed", job_name="prepare-data", observed_digest="d"),
            accessor=AccessorStatus(phase="Pending", service_name="s", access_url="http://s"),
            mounted_by="trainer",
            observed_generation=3,
            last_sync_time="l",
            conditions=(ready,),
        ),
    )
    assert GPUStorageViewSchema().dump(storage) == {
        "name": "data",
        "namespace": "ns",
        "uid": "u",
        "labels": {"team": "a"},
        "size": "2Gi",
        "storageClassName": "fast",
        "prepare": {"fromStorageName": "origin"},
        "accessor": {"enabled": True},
        "phase": "Failed",
        "claimName": "data",
        "capacity": "1Gi",
        "prepareStatus": {"phase": "Failed", "jobName": "prepare-data"},
        "accessorStatus": {"phase": "Pending", "serviceName": "s", "accessURL": "http://s"},
        "mountedBy": "trainer",
        "observedGeneration": 3,
        "lastSyncTime": "l",
        "reason": "Why",
        "message": "because",
        "operationID": "d-1",
        "createdAt": "c",
    }
