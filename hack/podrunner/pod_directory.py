"""The folder of a pod: its volumes, and the paths of its containers in it."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from hack.cluster.atomic_files import write_private_atomic
from hack.podrunner.pod import Container, Pod


class PodDirectory:
    """The working directory of a pod's processes, so that paths of unix sockets stay short."""

    def __init__(self, state_dir: Path, pod: Pod) -> None:
        meta = pod.metadata
        self.path = state_dir / "pods" / f"{meta.name}-{meta.uid[:8]}"
        self._volumes = {volume.name: str(n) for n, volume in enumerate(pod.spec.volumes)}

    def create(self) -> None:
        """Create an empty folder for every volume, readable by its owner only."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        for volume in self._volumes.values():
            (self.path / volume).mkdir(exist_ok=True)

    def write_secret_files(self, volume: str, files: Mapping[str, bytes]) -> None:
        """Write the values of a Secret into a volume."""
        for name, content in files.items():
            write_private_atomic(self.path / self._volumes[volume] / name, content.decode())

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def map_path(self, container: Container, value: str) -> str:
        """Return a path in a volume relative to the folder; any other value is unchanged."""
        mounts = sorted(container.volume_mounts, key=lambda mount: -len(mount.mount_path))
        for mount in mounts:
            if value == mount.mount_path or value.startswith(f"{mount.mount_path}/"):
                return self._volumes[mount.name] + value.removeprefix(mount.mount_path)
        return value
