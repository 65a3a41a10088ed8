"""Tests of the children of a storage as values."""

from typing import Any

from controller.gpustorage.resources.accessor import (
    accessor_deployment_manifest,
    accessor_service_manifest,
)
from controller.gpustorage.resources.network_policy import (
    accessor_network_policy_manifest,
    prepare_network_policy_manifest,
)
from controller.gpustorage.resources.prepare_job import prepare_job_manifest
from shared.v1alpha1.gpustorage import PrepareSpec
from tests.unit.controller.gpustorage.storage_objects import (
    PREPARE_FROM_IMAGE,
    SETTINGS,
    new_storage,
)

LABELS = {"team": "blue", "app.kubernetes.io/name": "theirs"}
STORAGE = new_storage(prepare=PREPARE_FROM_IMAGE, metadata={"labels": LABELS})


def job(prepare: PrepareSpec) -> dict[str, Any]:
    return prepare_job_manifest(STORAGE, prepare, "r1", SETTINGS)


def test_a_job_runs_the_users_program_once_with_the_volume_at_data() -> None:
    body = job(PrepareSpec(from_image="example/fill:1", command=("fill",), args=("all",)))
    spec = body["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    assert (spec["activeDeadlineSeconds"], spec["podReplacementPolicy"]) == (60, "Failed")
    assert (container["image"], container["command"], container["args"]) == (
        "example/fill:1",
        ["fill"],
        ["all"],
    )
    assert container["volumeMounts"] == [{"name": "data", "mountPath": "/data"}]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert spec["template"]["spec"]["restartPolicy"] == "Never"
    assert spec["template"]["spec"]["automountServiceAccountToken"] is False


def test_a_job_is_kept_until_its_outcome_is_recorded_and_names_its_attempt() -> None:
    meta = job(PrepareSpec(from_image="example/fill:1"))["metadata"]
    assert meta["finalizers"] == ["runtime.lokiwager.io/outcome"]
    assert meta["annotations"] == {"runtime.lokiwager.io/recover": "r1"}


def test_user_labels_are_on_the_pods_and_product_labels_win() -> None:
    labels = job(PrepareSpec(from_image="i"))["spec"]["template"]["metadata"]["labels"]
    assert (labels["team"], labels["app.kubernetes.io/name"]) == ("blue", "gpu-storage-prepare")


def test_a_copy_reads_the_source_and_keeps_owners() -> None:
    body = job(PrepareSpec(from_storage_name="base"))["spec"]["template"]["spec"]
    (container,) = body["containers"]
    claims = [volume["persistentVolumeClaim"]["claimName"] for volume in body["volumes"]]
    assert (container["image"], claims) == ("example/copy:1", ["data", "base"])
    assert container["volumeMounts"][1] == {
        "name": "source",
        "mountPath": "/source",
        "readOnly": True,
    }
    assert container["securityContext"]["capabilities"]["add"] == [
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
    ]


def test_a_prepare_pod_may_connect_to_public_addresses_and_accepts_no_connection() -> None:
    spec = prepare_network_policy_manifest(STORAGE, SETTINGS)["spec"]
    assert "ingress" not in spec
    assert spec["egress"][1]["to"][0]["ipBlock"] == {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}


def test_an_accessor_accepts_connections_on_its_port_and_opens_none() -> None:
    spec = accessor_network_policy_manifest(STORAGE, 8080)["spec"]
    assert spec["ingress"] == [{"ports": [{"protocol": "TCP", "port": 8080}]}]
    assert len(spec["egress"]) == 1
    assert (
        spec["podSelector"]["matchLabels"] == accessor_service_manifest(STORAGE)["spec"]["selector"]
    )


def test_an_accessor_is_read_only_and_runs_on_the_node_of_the_volume() -> None:
    pod = accessor_deployment_manifest(STORAGE, SETTINGS, "gpu-1")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert terms["nodeSelectorTerms"][0]["matchFields"][0]["values"] == ["gpu-1"]
    assert container["volumeMounts"] == [{"name": "data", "mountPath": "/data", "readOnly": True}]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True


def test_an_accessor_of_an_unused_volume_may_run_on_any_node() -> None:
    pod = accessor_deployment_manifest(STORAGE, SETTINGS, "")["spec"]["template"]["spec"]
    assert "affinity" not in pod
