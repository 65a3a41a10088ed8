"""Pods on the simulated nodes: they start, fail and stop as their labels say."""

from functools import partial
from typing import Any

import pytest

from hack.cluster.admin_client import AdminClient, ApiStatusError
from tests.support.builders.pods import (
    condition,
    container_status,
    is_ready,
    last_termination,
    pod_manifest,
    waiting_reason,
)
from tests.support.wait.eventually import eventually

MODE = "sim.local/mode"


def simulated(labels: dict[str, str]) -> dict[str, str]:
    return {f"sim.local/{key.replace('_', '-')}": value for key, value in labels.items()}


class Pod:
    """One pod in the test's namespace."""

    def __init__(self, admin: AdminClient, namespace: str, name: str = "pod") -> None:
        self._admin = admin
        self._pods = f"/api/v1/namespaces/{namespace}/pods"
        self._path = f"{self._pods}/{name}"
        self._name = name

    async def create(self, gpus: int = 0, **labels: str) -> "Pod":
        pod = pod_manifest(self._name, gpus=gpus, labels=simulated(labels))
        await self._admin.create(self._pods, pod)
        return self

    async def label(self, **labels: str) -> None:
        await self._admin.patch(self._path, {"metadata": {"labels": simulated(labels)}})

    async def get(self) -> dict[str, Any]:
        pod: dict[str, Any] = await self._admin.get(self._path)
        return pod

    async def delete(self) -> None:
        await self._admin.delete(self._path)


async def test_a_pod_without_labels_runs_and_is_ready(admin: AdminClient, namespace: str) -> None:
    pod = await Pod(admin, namespace).create(gpus=2)
    ready = await eventually(pod.get, is_ready)
    assert ready["spec"]["nodeName"].startswith("gpu-")
    assert ready["status"]["phase"] == "Running"


async def test_a_pod_that_requests_more_gpus_than_a_node_has_is_unschedulable(
    admin: AdminClient, namespace: str
) -> None:
    pod = await Pod(admin, namespace).create(gpus=9)
    pending = await eventually(pod.get, lambda p: condition(p, "PodScheduled"))
    assert condition(pending, "PodScheduled")["reason"] == "Unschedulable"
    assert "Insufficient nvidia.com/gpu" in condition(pending, "PodScheduled")["message"]


async def test_a_slow_pod_is_in_container_creating_until_its_delay_ends(
    admin: AdminClient, namespace: str
) -> None:
    pod = await Pod(admin, namespace).create(mode="slow", delay="1h")
    await eventually(pod.get, lambda p: waiting_reason(p) == "ContainerCreating")
    await pod.label(delay="100ms")
    await eventually(pod.get, is_ready)


async def test_a_never_ready_pod_runs_and_stays_not_ready(
    admin: AdminClient, namespace: str
) -> None:
    pod = await Pod(admin, namespace).create(mode="never-ready")
    running = await eventually(pod.get, lambda p: p["status"]["phase"] == "Running")
    assert not is_ready(running)
    events = f"/api/v1/namespaces/{namespace}/events"
    await eventually(
        lambda: admin.get(events),
        lambda found: "Unhealthy" in {event["reason"] for event in found["items"]},
    )


async def test_an_image_pull_is_retried_after_a_backoff(admin: AdminClient, namespace: str) -> None:
    pod = await Pod(admin, namespace).create(mode="image-pull")
    for reason in ("ErrImagePull", "ImagePullBackOff", "ErrImagePull"):
        current = await eventually(pod.get, partial(waits_for, reason))
        assert current["status"]["phase"] == "Pending"


def waits_for(reason: str, pod: dict[str, Any]) -> bool:
    return waiting_reason(pod) == reason


async def test_a_crash_looping_container_restarts_and_shows_its_termination(
    admin: AdminClient, namespace: str
) -> None:
    pod = await Pod(admin, namespace).create(
        mode="crash-loop", backoff="200ms", exit_code="3", reason="Broken", message="no-config"
    )
    current = await eventually(pod.get, lambda p: container_status(p).get("restartCount", 0) >= 2)
    termination = last_termination(current)
    assert (termination["exitCode"], termination["reason"]) == (3, "Broken")
    assert termination["message"] == "no-config"
    await eventually(pod.get, lambda p: waiting_reason(p) == "CrashLoopBackOff")


async def test_a_container_that_exceeds_its_memory_is_oom_killed(
    admin: AdminClient, namespace: str
) -> None:
    pod = await Pod(admin, namespace).create(mode="oom", backoff="200ms")
    current = await eventually(pod.get, last_termination)
    assert (last_termination(current)["exitCode"], last_termination(current)["reason"]) == (
        137,
        "OOMKilled",
    )


@pytest.mark.parametrize(
    ("code", "phase", "reason"), [("0", "Succeeded", "Completed"), ("4", "Failed", "Error")]
)
async def test_a_pod_that_exits_ends_with_its_code(
    admin: AdminClient, namespace: str, code: str, phase: str, reason: str
) -> None:
    pod = await Pod(admin, namespace).create(mode="exit", exit_code=code, run_for="100ms")
    current = await eventually(pod.get, lambda p: p["status"]["phase"] == phase)
    assert (last_termination(current)["exitCode"], last_termination(current)["reason"]) == (
        int(code),
        reason,
    )


async def test_a_job_completes_and_a_failing_one_fails(admin: AdminClient, namespace: str) -> None:
    jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"

    def new_job(name: str, labels: dict[str, str]) -> dict[str, Any]:
        template = pod_manifest(name, labels=labels)
        return {"metadata": {"name": name}, "spec": {"backoffLimit": 0, "template": template}}

    await admin.create(jobs, new_job("good", {}))
    await admin.create(jobs, new_job("bad", {MODE: "exit", "sim.local/exit-code": "1"}))
    await eventually(lambda: admin.get(f"{jobs}/good"), lambda job: condition(job, "Complete"))
    failed = await eventually(
        lambda: admin.get(f"{jobs}/bad"), lambda job: condition(job, "Failed")
    )
    assert condition(failed, "Failed")["reason"] == "BackoffLimitExceeded"


async def test_a_deleted_pod_is_gone_at_once_or_after_its_grace_period(
    admin: AdminClient, namespace: str
) -> None:
    quick = await Pod(admin, namespace, "quick").create()
    graceful = await Pod(admin, namespace, "graceful").create(stop="grace")
    for pod in (quick, graceful):
        await eventually(pod.get, is_ready)
        await pod.delete()
    await eventually(lambda: is_gone(quick))
    assert (await graceful.get())["metadata"]["deletionTimestamp"]


async def is_gone(pod: Pod) -> bool:
    try:
        await pod.get()
    except ApiStatusError as error:
        return error.status == 404
    return False
