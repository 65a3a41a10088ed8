"""A control plane: its processes, the files they need, and when each is ready."""

import asyncio

from hack.cluster import command_lines, kubeconfig
from hack.cluster.admin_client import Admin
from hack.cluster.atomic_files import write_private
from hack.cluster.certificates import Leaf, authority
from hack.cluster.layout import Layout
from hack.cluster.nodes import Fleet
from hack.cluster.nodes_and_classes import furnish
from hack.cluster.ports import HOST
from hack.cluster.process import Process
from hack.cluster.readiness import answers, ensure, until
from hack.cluster.simulation import kwok_configuration

LEAVES = (
    Leaf(
        "kube-apiserver",
        "kube-apiserver",
        addresses=(HOST, "10.96.0.1"),
        dns_names=("localhost", "kubernetes.default.svc"),
    ),
    Leaf("admin", "admin", organization="system:masters"),
    Leaf("kube-controller-manager", "system:kube-controller-manager"),
    Leaf("kube-scheduler", "system:kube-scheduler"),
    Leaf("kwok", "kwok", organization="system:masters"),
    Leaf("kubelet", "kwok-kubelet", addresses=(HOST,)),
)
CLIENTS = ("admin", "kube-controller-manager", "kube-scheduler", "kwok")


class ControlPlane:
    """etcd, the API server, the controller manager, the scheduler and kwok in one folder."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        write_files(layout)
        simulation = kwok_configuration(layout.home)
        layout.kwok_configuration.write_text(simulation)
        self.admin = Admin(layout.server_url, layout.pki)
        self.etcd = Process(command_lines.etcd(layout), layout.home)
        self.kube_apiserver = Process(command_lines.kube_apiserver(layout), layout.home)
        self.kube_controller_manager = Process(
            command_lines.kube_controller_manager(layout), layout.home
        )
        self.kube_scheduler = Process(command_lines.kube_scheduler(layout), layout.home)
        self.kwok = Process(command_lines.kwok(layout, simulation), layout.home)

    @property
    def processes(self) -> tuple[Process, ...]:
        """In the order of start."""
        return (
            self.etcd,
            self.kube_apiserver,
            self.kube_controller_manager,
            self.kube_scheduler,
            self.kwok,
        )

    async def start(self, fleet: Fleet) -> None:
        """Start what does not run in the wanted way, and wait until the nodes are ready."""
        for process in (self.etcd, self.kube_apiserver):
            await ensure(process)
        await self.etcd_ready()
        await self.server_ready()
        for process in self.processes[2:]:
            await ensure(process)
        await furnish(self.admin, fleet)
        await self.nodes_ready(fleet)

    async def stop(self) -> None:
        """Clients first, so that none of them fills its log with complaints."""
        await asyncio.gather(*(process.stop() for process in self.processes[2:]))
        await self.kube_apiserver.stop()
        await self.etcd.stop()

    async def etcd_ready(self) -> None:
        await until(lambda: answers(f"{self.layout.etcd_url}/health"), self.etcd)

    async def server_ready(self) -> None:
        async def ready() -> bool:
            return bool(await self.admin.get("/readyz") == "ok")

        await until(ready, self.kube_apiserver)

    async def nodes_ready(self, fleet: Fleet) -> None:
        """Every node is Ready and a pod could be made: the default service account is there."""

        async def ready() -> bool:
            listed = await self.admin.get("/api/v1/nodes")
            conditions = [
                (condition["type"], condition["status"])
                for node in listed["items"]
                for condition in node["status"].get("conditions") or ()
            ]
            await self.admin.get("/api/v1/namespaces/default/serviceaccounts/default")
            return conditions.count(("Ready", "True")) >= fleet.nodes

        await until(ready, self.kwok, self.kube_controller_manager)


def write_files(layout: Layout) -> None:
    """Certificates and kubeconfigs; keeps the certificates that are there."""
    signer = authority(layout.pki)
    signer.service_account_keys()
    issued = {leaf.name: signer.issue(leaf) for leaf in LEAVES}
    access = kubeconfig.Access(layout.server_url, signer.certificate_path.read_bytes())
    for client in CLIENTS:
        write_private(
            layout.kubeconfig(client), kubeconfig.for_certificate(access, *issued[client])
        )
