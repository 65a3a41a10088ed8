"""The life cycle of one pod as a kubelet runs it, from its volumes to its last process."""

import asyncio
import logging
from asyncio.subprocess import Process
from pathlib import Path
from typing import Final

import msgspec

from controller.runtime import Client, Clock, KubeError, NotFoundError, ObjectKey, key_of
from controller.runtime.client.rest import KubeRequest
from hack.cluster.ports import FreePorts
from hack.podrunner import launch
from hack.podrunner.container import ContainerRunner
from hack.podrunner.pod import PODS, SECRETS, Container, Pod, Secret
from hack.podrunner.pod_directory import PodDirectory
from hack.podrunner.status_writer import PodStatusWriter

RETRY_SECONDS: Final = 0.5
MIN_SIDECAR_STOP_SECONDS: Final = 2.0

log = logging.getLogger(__name__)


class PodLifecycle:
    """The runner of a pod's containers, which reports their status and stops them in order."""

    def __init__(
        self, pod: Pod, client: Client, state_dir: Path, clock: Clock, free_ports: FreePorts
    ) -> None:
        self._pod = pod
        self._client = client
        self._state_dir = state_dir
        self._clock = clock
        self._free_ports = free_ports
        self._directory = PodDirectory(state_dir, pod)
        self._port_map: dict[int | str, int] = {}
        self._secrets: dict[str, Secret] = {}
        self._grace_seconds = 0.0
        self._terminating = asyncio.Event()
        self._status_writer = PodStatusWriter(pod, client, clock)
        everything = (*pod.spec.sidecars, *pod.spec.containers)
        self._containers = {
            container.name: ContainerRunner(
                container,
                self._launch,
                self._port_map,
                self._status_writer.container_changed,
                clock,
            )
            for container in everything
        }

    def terminate(self, grace_seconds: float) -> None:
        """Begin to stop the pod, which may take `grace_seconds`."""
        self._grace_seconds = grace_seconds
        self._terminating.set()

    async def run(self) -> None:
        """Run until `terminate` is called, then delete the pod; if cancelled, kill everything."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(self._run_containers()),
                    group.create_task(self._status_writer.run()),
                ]
                await self._terminating.wait()
                await self._stop_in_order()
                for task in tasks:
                    task.cancel()
            await self._delete_pod()
        finally:
            await asyncio.gather(*(runner.kill() for runner in self._containers.values()))
            self._directory.remove()

    async def _run_containers(self) -> None:
        self._directory.create()
        for volume in self._pod.spec.volumes:
            if volume.secret is not None:
                secret = await self._wait_secret(volume.secret.secret_name)
                self._directory.write_secret_files(volume.name, secret.data)
        async with asyncio.TaskGroup() as group:
            for runner in self._containers.values():
                group.create_task(runner.run())

    async def _wait_secret(self, name: str) -> Secret:
        """Return the Secret once it exists."""
        key = ObjectKey(self._pod.metadata.namespace, name)
        while name not in self._secrets:
            try:
                self._secrets[name] = await self._client.get(SECRETS, key)
            except KubeError as error:
                log.info("secret_missing", extra={"secret": str(key), "why": str(error)})
                await self._clock.sleep(RETRY_SECONDS)
        return self._secrets[name]

    async def _launch(self, container: Container) -> Process:
        self._port_map.update(launch.allocate_ports([container], self._free_ports))
        for variable in container.env:
            if variable.value_from is not None and variable.value_from.secret_key_ref is not None:
                await self._wait_secret(variable.value_from.secret_key_ref.name)
        environment = launch.container_environment(
            container, self._directory, self._port_map, self._secrets
        )
        return await launch.launch_container(self._state_dir, self._pod, container, environment)

    async def _stop_in_order(self) -> None:
        """Stop the containers after the preStop request that drains them, then the sidecars."""
        deadline = self._clock.monotonic() + self._grace_seconds
        async with asyncio.TaskGroup() as group:
            for container in self._pod.spec.containers:
                group.create_task(self._stop_container(self._containers[container.name], deadline))
        for container in reversed(self._pod.spec.sidecars):
            remaining = max(deadline - self._clock.monotonic(), MIN_SIDECAR_STOP_SECONDS)
            await self._containers[container.name].stop(remaining)

    async def _stop_container(self, running: ContainerRunner, deadline: float) -> None:
        await running.run_pre_stop_hook(max(deadline - self._clock.monotonic(), 0.1))
        await running.stop(max(deadline - self._clock.monotonic(), MIN_SIDECAR_STOP_SECONDS))

    async def _delete_pod(self) -> None:
        """Delete the pod without a grace period, as a kubelet does after its processes."""
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": self._pod.metadata.uid}}
        request = KubeRequest(
            "DELETE", PODS.object_path(key_of(self._pod)), {}, msgspec.json.encode(options)
        )
        while True:
            try:
                await self._client.rest.send(request)
            except NotFoundError:
                return
            except KubeError as error:
                log.warning("pod_not_deleted", extra={"why": str(error)})
                await self._clock.sleep(RETRY_SECONDS)
            else:
                return
