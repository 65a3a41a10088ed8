"""Tests of the pod of a unit: it only reserves resources, or runs the user's program with them."""

from typing import Any

import pytest

from controller.gpuunit.resources.pod import pod_template
from shared.v1alpha1 import wellknown
from shared.v1alpha1.validation.mounts import SHARED_MEMORY_PATH
from tests.support.builders.gpu_units import FULL_SPEC, STOCK_NAMESPACE, new_unit, unit_settings

LABELS = {
    "runtime.lokiwager.io/unit": "one",
    "app.kubernetes.io/name": "gpu-unit",
    "app.kubernetes.io/managed-by": "gpu-runtime",
}
POD_SECURITY = {
    "automountServiceAccountToken": False,
    "enableServiceLinks": False,
    "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
}
UNPRIVILEGED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
RESOURCES = {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "2"}
NODE_CONSTRAINTS = {
    "nodeSelector": {"zone": "a"},
    "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
}
DEFAULT_ENV = [
    {"name": "UNIT_NAME", "value": "one"},
    {"name": "SPEC_NAME", "value": "g1.1"},
    {"name": "GPU_COUNT", "value": "0"},
    {"name": "MEMORY_LIMIT", "value": "16Gi"},
]


def pod(**unit: Any) -> dict[str, Any]:
    spec: dict[str, Any] = pod_template(new_unit(**unit), unit_settings(), {})["spec"]
    return spec


def container(**unit: Any) -> dict[str, Any]:
    (body,) = pod(**unit)["containers"]
    return dict(body)


def test_a_stock_pod_reserves_resources_and_ignores_the_workload() -> None:
    stock = new_unit(
        namespace=STOCK_NAMESPACE,
        annotations={wellknown.ADMITTED_ANNOTATION: "node-1"},
        **FULL_SPEC,
    )
    assert pod_template(stock, unit_settings(), {}) == {
        "metadata": {"labels": LABELS},
        "spec": {
            **POD_SECURITY,
            **NODE_CONSTRAINTS,
            "priorityClassName": "gpu-runtime-stock",
            "terminationGracePeriodSeconds": 1,
            "containers": [
                {
                    "name": "unit",
                    "image": "example/pause:1",
                    "resources": {"requests": RESOURCES, "limits": RESOURCES},
                    "securityContext": UNPRIVILEGED,
                }
            ],
        },
    }


def test_an_active_unit_runs_the_user_s_program() -> None:
    unit = new_unit(annotations={wellknown.ADMITTED_ANNOTATION: "node-1"}, **FULL_SPEC)
    assert pod_template(unit, unit_settings(), {}) == {
        "metadata": {"labels": LABELS},
        "spec": {
            **POD_SECURITY,
            **NODE_CONSTRAINTS,
            "priorityClassName": "gpu-runtime-active",
            "imagePullSecrets": [{"name": "registry"}],
            "affinity": {
                "nodeAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 100,
                            "preference": {
                                "matchFields": [
                                    {
                                        "key": "metadata.name",
                                        "operator": "In",
                                        "values": ["node-1"],
                                    }
                                ]
                            },
                        }
                    ]
                }
            },
            "volumes": [
                {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}},
                {"name": "storage-models", "persistentVolumeClaim": {"claimName": "models"}},
                {"name": "storage-work", "persistentVolumeClaim": {"claimName": "work"}},
            ],
            "containers": [
                {
                    "name": "unit",
                    "image": "example/user:1",
                    "command": ["serve"],
                    "args": ["--port", "8000"],
                    "env": [
                        {"name": "UNIT_NAME", "value": "one"},
                        {"name": "SPEC_NAME", "value": "g1.1"},
                        {"name": "GPU_COUNT", "value": "2"},
                        {"name": "MEMORY_LIMIT", "value": "16Gi"},
                        {"name": "MODE", "value": "fast"},
                        {
                            "name": "TOKEN",
                            "valueFrom": {"secretKeyRef": {"name": "keys", "key": "token"}},
                        },
                    ],
                    "ports": [
                        {"name": "http", "containerPort": 8000, "protocol": "TCP"},
                        {"name": "stats", "containerPort": 9000, "protocol": "UDP"},
                    ],
                    "volumeMounts": [
                        {"name": "shared-memory", "mountPath": SHARED_MEMORY_PATH},
                        {"name": "storage-models", "mountPath": "/models", "readOnly": True},
                        {"name": "storage-work", "mountPath": "/work"},
                    ],
                    "resources": {"requests": RESOURCES, "limits": RESOURCES},
                    "securityContext": UNPRIVILEGED,
                }
            ],
        },
    }


def test_a_minimal_unit_has_no_optional_pod_fields() -> None:
    assert pod() == {
        **POD_SECURITY,
        "priorityClassName": "gpu-runtime-active",
        "volumes": [
            {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}
        ],
        "containers": [
            {
                "name": "unit",
                "image": "example/user:1",
                "env": DEFAULT_ENV,
                "volumeMounts": [{"name": "shared-memory", "mountPath": SHARED_MEMORY_PATH}],
                "resources": {"requests": {"memory": "16Gi"}, "limits": {"memory": "16Gi"}},
                "securityContext": UNPRIVILEGED,
            }
        ],
    }


def test_user_labels_are_on_the_pod_and_product_labels_win() -> None:
    user_labels = {"sim.local/mode": "slow", wellknown.UNIT_LABEL: "another"}
    template = pod_template(new_unit(), unit_settings(), user_labels)
    assert template["metadata"]["labels"] == {"sim.local/mode": "slow", **LABELS}


@pytest.mark.parametrize(
    ("amount", "canonical"),
    [
        ("0.5Gi", "512Mi"),
        ("1024Mi", "1Gi"),
        ("1000Mi", "1000Mi"),
        ("1e9", "1G"),
        ("+1.5G", "1500M"),
    ],
)
def test_amounts_have_the_notation_of_the_server(amount: str, canonical: str) -> None:
    assert container(memory=amount)["resources"]["limits"]["memory"] == canonical


def test_amounts_are_rounded_up_to_thousandths_as_the_server_does() -> None:
    limits = container(cpu="1u", memory="1.0000000001Gi")["resources"]["limits"]
    assert limits == {"cpu": "1m", "memory": "1073741824108m"}


def test_another_notation_of_an_amount_changes_no_resources() -> None:
    assert container(cpu="1000m")["resources"] == container(cpu="1")["resources"]


def test_gpus_are_requested_by_their_resource_name() -> None:
    limits = container(gpu=1000, gpuResource="example.com/gpu")["resources"]["limits"]
    assert limits == {"memory": "16Gi", "example.com/gpu": "1k"}


@pytest.mark.parametrize(
    ("fields", "size"),
    [
        ({"memory": "16Gi"}, "8Gi"),
        ({"memory": "1"}, "1"),
        ({"memory": "3"}, "2"),
        ({"memory": "16Gi", "shmSize": "0.5Gi"}, "512Mi"),
    ],
)
def test_shared_memory_is_half_of_the_memory_unless_its_size_is_set(
    fields: dict[str, Any], size: str
) -> None:
    (volume,) = pod(**fields)["volumes"]
    assert volume["emptyDir"]["sizeLimit"] == size


@pytest.mark.parametrize(
    "path",
    [SHARED_MEMORY_PATH, f"{SHARED_MEMORY_PATH}/", "/dev//shm", f"/x/..{SHARED_MEMORY_PATH}"],
)
def test_a_user_mount_replaces_the_shared_memory(path: str) -> None:
    spec = pod(storageMounts=[{"name": "fast", "mountPath": path}])
    assert [volume["name"] for volume in spec["volumes"]] == ["storage-fast"]
    mounts = spec["containers"][0]["volumeMounts"]
    assert mounts == [{"name": "storage-fast", "mountPath": SHARED_MEMORY_PATH}]


def test_volume_names_of_long_storage_names_differ_and_are_within_the_limit() -> None:
    storage_names = ["a" * 62 + end for end in "xy"]
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in storage_names]
    volumes = pod(storageMounts=mounts)["volumes"][1:]
    assert [volume["persistentVolumeClaim"]["claimName"] for volume in volumes] == storage_names
    names = {volume["name"] for volume in volumes}
    assert len(names) == 2
    assert max(map(len, names)) <= 63


def test_user_environment_variables_win() -> None:
    envs = [{"name": "GPU_COUNT", "value": "7"}, {"name": "UNIT_NAME"}]
    body = container(template={"envs": envs})["env"]
    assert body == [
        DEFAULT_ENV[1],
        DEFAULT_ENV[3],
        {"name": "GPU_COUNT", "value": "7"},
        {"name": "UNIT_NAME"},
    ]


@pytest.mark.parametrize("annotations", [{}, {wellknown.ADMITTED_ANNOTATION: ""}])
def test_a_unit_without_a_preferred_node_has_no_affinity(annotations: dict[str, str]) -> None:
    assert "affinity" not in pod(annotations=annotations)
