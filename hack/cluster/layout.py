"""The folder, ports and programs of one control plane."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hack.cluster.ports import HOST

PORT_NAMES = ("etcd", "etcd-peer", "kube-apiserver", "kwok")


@dataclass(frozen=True)
class ControlPlaneLayout:
    """The values that determine every command line and file of a control plane."""

    state_dir: Path
    ports: Mapping[str, int]
    programs: Mapping[str, Path]

    @property
    def etcd_url(self) -> str:
        return f"http://{HOST}:{self.ports['etcd']}"

    @property
    def server_url(self) -> str:
        return f"https://{HOST}:{self.ports['kube-apiserver']}"

    @property
    def pki_dir(self) -> Path:
        return self.state_dir / "pki"

    def kubeconfig(self, user: str) -> Path:
        return self.state_dir / "kubeconfigs" / user

    @property
    def admin_kubeconfig(self) -> Path:
        return self.kubeconfig("admin")

    @property
    def kwok_config_path(self) -> Path:
        return self.state_dir / "kwok.yaml"
