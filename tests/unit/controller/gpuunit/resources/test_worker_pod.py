"""Tests of worker pods: they have the sidecar; the pods of all other units are unchanged."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from controller.gpuunit.resources.deployment import deployment_manifest
from controller.gpuunit.resources.network_policy import network_policy_manifest
from controller.gpuunit.resources.pod import pod_template
from controller.runtime.digest import json_digest
from shared.invocation.queue_names import QueueNames
from shared.v1alpha1 import wellknown
from tests.support.builders.gpu_units import FULL_SPEC, STOCK_NAMESPACE, new_unit, unit_settings

WORKER: dict[str, Any] = {"serverless": {"requestID": "echo", "concurrency": 8}}
FOLDER = "/var/run/gpu-runtime"
SOCKET = {"name": "framework-socket", "mountPath": FOLDER}
QUEUE_POLICY = {
    "to": [
        {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "runtime-system"}},
            "podSelector": {"matchLabels": {"app.kubernetes.io/name": "nats"}},
        }
    ],
    "ports": [{"protocol": "TCP", "port": 4222}],
}
# The pods of units without workers: a different first digest restarts the pods of users.
BEFORE_WORKERS = {
    "plain": (new_unit(), "43ba01001afedc68", "ff051b4b6afc8c28"),
    "full": (
        new_unit(annotations={wellknown.ADMITTED_ANNOTATION: "node-1"}, **FULL_SPEC),
        "de166c6e7d991a66",
        "fba3ea534e503c8f",
    ),
    "stock": (
        new_unit(namespace=STOCK_NAMESPACE, **FULL_SPEC),
        "446b5a9084603dea",
        "aad2860142e4c656",
    ),
}


def pod(**spec: Any) -> dict[str, Any]:
    body: dict[str, Any] = pod_template(new_unit(**spec), unit_settings(), {})["spec"]
    return body


def sidecar(**spec: Any) -> dict[str, Any]:
    (body,) = pod(**spec)["initContainers"]
    return dict(body)


def environment(container: dict[str, Any]) -> dict[str, str]:
    return {variable["name"]: variable["value"] for variable in container["env"]}


@pytest.mark.parametrize("kind", BEFORE_WORKERS)
def test_units_that_are_no_workers_are_applied_as_before(kind: str) -> None:
    unit, workload, policy = BEFORE_WORKERS[kind]
    assert (
        json_digest(deployment_manifest(unit, unit_settings(), {}, stop_old_pod_first=False))
        == workload
    )
    assert json_digest(network_policy_manifest(unit, unit_settings())) == policy


def test_stock_has_no_worker() -> None:
    assert pod(namespace=STOCK_NAMESPACE, **WORKER) == pod(namespace=STOCK_NAMESPACE)


def test_the_worker_is_a_native_sidecar_with_everything_that_it_needs() -> None:
    assert sidecar(**WORKER) == {
        "name": "worker",
        "image": "example/worker:1",
        "restartPolicy": "Always",
        "command": ["python", "-m", "serverless.worker"],
        "env": [
            {"name": "GPU_RUNTIME_REQUEST_ID", "value": "echo"},
            {"name": "GPU_RUNTIME_WORKER", "value": "one"},
            {"name": "GPU_RUNTIME_CONCURRENCY", "value": "8"},
            {"name": "GPU_RUNTIME_TIMEOUT_SECONDS", "value": "300"},
            {"name": "GPU_RUNTIME_SOCKET", "value": f"{FOLDER}/framework.sock"},
            {"name": "GPU_RUNTIME_INVOKE_PATH", "value": "/invoke"},
            {"name": "GPU_RUNTIME_HEALTH_PATH", "value": "/healthz"},
            {"name": "GPU_RUNTIME_QUEUE_SECRET", "value": "/etc/gpu-runtime/queue"},
            {"name": "GPU_RUNTIME_HTTP_ADDR", "value": "0.0.0.0:9809"},
        ],
        "ports": [{"name": "worker", "containerPort": 9809, "protocol": "TCP"}],
        "readinessProbe": {
            "httpGet": {"path": "/readyz", "port": 9809},
            "periodSeconds": 2,
            "timeoutSeconds": 5,
        },
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": 9809},
            "periodSeconds": 10,
            "timeoutSeconds": 5,
        },
        "resources": {
            "requests": {"cpu": "100m", "memory": "256Mi"},
            "limits": {"cpu": "100m", "memory": "256Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "runAsUser": 10809,
            "runAsGroup": 10809,
        },
        "volumeMounts": [
            SOCKET,
            {"name": "queue", "mountPath": "/etc/gpu-runtime/queue", "readOnly": True},
        ],
    }


def test_a_worker_pod_adds_only_the_sidecar_and_what_the_two_containers_share() -> None:
    without_worker, with_worker = pod(**FULL_SPEC), pod(**FULL_SPEC, **WORKER)
    (program,), (drained,) = without_worker["containers"], with_worker["containers"]
    worker_env = environment(sidecar(**WORKER))
    shared_env = [
        {"name": name, "value": worker_env[name]}
        for name in worker_env
        if name in FRAMEWORK_VARIABLES
    ]
    assert drained == {
        **program,
        "env": [*program["env"][:4], *shared_env, *program["env"][4:]],
        "volumeMounts": [*program["volumeMounts"], SOCKET],
        "lifecycle": {"preStop": {"httpGet": {"path": "/drain", "port": 9809}}},
    }
    assert with_worker == {
        **without_worker,
        "securityContext": {
            **without_worker["securityContext"],
            "fsGroup": 10809,
            "fsGroupChangePolicy": "OnRootMismatch",
        },
        "terminationGracePeriodSeconds": 330,
        "initContainers": with_worker["initContainers"],
        "containers": [drained],
        "volumes": [
            *without_worker["volumes"],
            {"name": "framework-socket", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
            {"name": "queue", "secret": {"secretName": "queue-echo", "defaultMode": 0o440}},
        ],
    }


FRAMEWORK_VARIABLES = ("GPU_RUNTIME_SOCKET", "GPU_RUNTIME_INVOKE_PATH", "GPU_RUNTIME_HEALTH_PATH")


def test_the_program_never_sees_the_credentials_of_the_queue() -> None:
    (program,) = pod(**WORKER)["containers"]
    assert "queue" not in {mount["name"] for mount in program["volumeMounts"]}


@pytest.mark.parametrize(("timeout", "grace"), [(1, 31), (300, 330), (3570, 3600)])
def test_the_grace_period_lets_one_run_finish(timeout: int, grace: int) -> None:
    serverless = {"requestID": "echo", "timeoutSeconds": timeout}
    assert pod(serverless=serverless)["terminationGracePeriodSeconds"] == grace


def test_a_configured_framework_endpoint_applies_to_both_containers() -> None:
    framework = {"socketPath": "/run/mine/f.sock", "invokePath": "/go", "healthPath": "/ok"}
    spec = pod(serverless={"requestID": "echo", "framework": framework})
    for container in (*spec["initContainers"], *spec["containers"]):
        paths = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert paths["framework-socket"] == "/run/mine"
        assert [environment(container)[name] for name in FRAMEWORK_VARIABLES] == list(
            framework.values()
        )


def test_configured_nats_names_are_passed_to_the_worker() -> None:
    queue_names = QueueNames(prefix="elsewhere")
    defaults = unit_settings()
    settings = replace(defaults, sidecar=replace(defaults.sidecar, queue_names=queue_names))
    (sidecar_body,) = pod_template(new_unit(**WORKER), settings, {})["spec"]["initContainers"]
    names_text = environment(sidecar_body)["GPU_RUNTIME_QUEUE_NAMES"]
    assert msgspec.json.decode(names_text, type=QueueNames) == queue_names


def test_a_worker_may_also_connect_to_the_queue_and_serve_its_metrics() -> None:
    without_worker, worker = (
        network_policy_manifest(new_unit(**spec), unit_settings())["spec"] for spec in ({}, WORKER)
    )
    collectors = {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}
    metrics = {
        "from": [{"namespaceSelector": collectors}],
        "ports": [{"protocol": "TCP", "port": 9809}],
    }
    assert worker == {
        **without_worker,
        "ingress": [metrics],
        "egress": [*without_worker["egress"], QUEUE_POLICY],
    }
