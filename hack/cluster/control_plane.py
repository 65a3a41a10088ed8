"""A control plane: its processes, their files and their readiness checks."""

import asyncio

from hack.cluster import command_lines, kubeconfig
from hack.cluster.admin_client import AdminClient
from hack.cluster.atomic_files import write_private_atomic
from hack.cluster.certificates import CertificateRequest, certificate_authority
from hack.cluster.layout import ControlPlaneLayout
from hack.cluster.nodes import Fleet
from hack.cluster.nodes_and_classes import apply_nodes_and_classes
from hack.cluster.ports import HOST
from hack.cluster.process import Process
from hack.cluster.readiness import ensure_running, responds_ok, wait_until
from hack.cluster.simulation import kwok_config

CERTIFICATE_REQUESTS = (
    CertificateRequest(
        "kube-apiserver",
        "kube-apiserver",
        addresses=(HOST, "10.96.0.1"),
        dns_names=("localhost", "kubernetes.default.svc"),
    ),
    CertificateRequest("admin", "admin", organization="system:masters"),
    CertificateRequest("kube-controller-manager", "system:kube-controller-manager"),
    CertificateRequest("kube-scheduler", "system:kube-scheduler"),
    CertificateRequest("kwok", "kwok", organization="system:masters"),
    CertificateRequest("kubelet", "kwok-kubelet", addresses=(HOST,)),
)
KUBECONFIG_USERS = ("admin", "kube-controller-manager", "kube-scheduler", "kwok")


class ControlPlane:
    """etcd, the API server, the controller manager, the scheduler and kwok in one folder."""

    def __init__(self, layout: ControlPlaneLayout) -> None:
        self.layout = layout
        write_credentials(layout)
        simulation = kwok_config(layout.state_dir)
        layout.kwok_config_path.write_text(simulation)
        self.admin = AdminClient(layout.server_url, layout.pki_dir)
        self.etcd = Process(command_lines.etcd_command(layout), layout.state_dir)
        self.kube_apiserver = Process(
            command_lines.kube_apiserver_command(layout), layout.state_dir
        )
        self.kube_controller_manager = Process(
            command_lines.kube_controller_manager_command(layout), layout.state_dir
        )
        self.kube_scheduler = Process(
            command_lines.kube_scheduler_command(layout), layout.state_dir
        )
        self.kwok = Process(command_lines.kwok_command(layout, simulation), layout.state_dir)

    @property
    def processes(self) -> tuple[Process, ...]:
        """Return the processes in the order of their start."""
        return (
            self.etcd,
            self.kube_apiserver,
            self.kube_controller_manager,
            self.kube_scheduler,
            self.kwok,
        )

    async def start(self, fleet: Fleet) -> None:
        """Start processes that do not run with their current command; wait for ready nodes."""
        for process in (self.etcd, self.kube_apiserver):
            await ensure_running(process)
        await self.wait_etcd_ready()
        await self.wait_apiserver_ready()
        for process in self.processes[2:]:
            await ensure_running(process)
        await apply_nodes_and_classes(self.admin, fleet)
        await self.wait_nodes_ready(fleet)

    async def stop(self) -> None:
        """Stop the clients first, so that they do not fill their logs with errors."""
        await asyncio.gather(*(process.stop() for process in self.processes[2:]))
        await self.kube_apiserver.stop()
        await self.etcd.stop()

    async def wait_etcd_ready(self) -> None:
        await wait_until(lambda: responds_ok(f"{self.layout.etcd_url}/health"), self.etcd)

    async def wait_apiserver_ready(self) -> None:
        async def ready() -> bool:
            return bool(await self.admin.get("/readyz") == "ok")

        await wait_until(ready, self.kube_apiserver)

    async def wait_nodes_ready(self, fleet: Fleet) -> None:
        """Wait for ready nodes, and for the default service account, which pods need."""

        async def ready() -> bool:
            listed = await self.admin.get("/api/v1/nodes")
            conditions = [
                (condition["type"], condition["status"])
                for node in listed["items"]
                for condition in node["status"].get("conditions") or ()
            ]
            await self.admin.get("/api/v1/namespaces/default/serviceaccounts/default")
            return conditions.count(("Ready", "True")) >= fleet.nodes

        await wait_until(ready, self.kwok, self.kube_controller_manager)


def write_credentials(layout: ControlPlaneLayout) -> None:
    """Write certificates and kubeconfigs; existing certificates are kept."""
    signer = certificate_authority(layout.pki_dir)
    signer.service_account_keys()
    issued = {request.name: signer.issue(request) for request in CERTIFICATE_REQUESTS}
    endpoint = kubeconfig.ApiServerEndpoint(layout.server_url, signer.certificate_path.read_bytes())
    for client in KUBECONFIG_USERS:
        write_private_atomic(
            layout.kubeconfig(client),
            kubeconfig.kubeconfig_for_certificate(endpoint, *issued[client]),
        )
