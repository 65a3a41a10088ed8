"""The command lines of the control plane's processes, as pure functions of the layout."""

from dataclasses import replace

from hack.cluster.layout import ControlPlaneLayout
from hack.cluster.ports import HOST
from hack.cluster.process import Command

CLIENT_RATE_FLAGS = ("--kube-api-qps=500", "--kube-api-burst=1000")
# Simulated nodes send no heartbeats: a node is lost through a label, and not through a restart of
# kwok.
NODE_GRACE_PERIOD_FLAG = "--node-monitor-grace-period=87600h"
# A single etcd member needs few heartbeats, and disposable data can be written seldom. The API
# server need not count objects for metrics. Together they take a third of an idle cluster's CPU.
ETCD_LOW_CPU_FLAGS = (
    "--heartbeat-interval=500",
    "--election-timeout=5000",
    "--backend-batch-interval=1s",
)
NO_ETCD_METRICS_FLAGS = ("--etcd-count-metric-poll-period=0", "--etcd-db-metric-poll-interval=0")
# kwok crashes when it compiles the first stages of two kinds at once: both write the same map.
SINGLE_THREAD_ENVIRONMENT = {"GOMAXPROCS": "1"}


def etcd_command(layout: ControlPlaneLayout) -> Command:
    """Return the command without fsync. The data is disposable, and survives kill -9 without it."""
    peer = f"http://{HOST}:{layout.ports['etcd-peer']}"
    return new_command(
        layout,
        "etcd",
        "--name=local",
        f"--data-dir={layout.state_dir / 'etcd'}",
        "--unsafe-no-fsync",
        *ETCD_LOW_CPU_FLAGS,
        "--log-level=warn",
        f"--listen-client-urls={layout.etcd_url}",
        f"--advertise-client-urls={layout.etcd_url}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=local={peer}",
    )


def kube_apiserver_command(layout: ControlPlaneLayout) -> Command:
    """Return the command with a short stop: a clean stop waits a minute for open watches."""
    command = new_command(
        layout,
        "kube-apiserver",
        f"--etcd-servers={layout.etcd_url}",
        f"--bind-address={HOST}",
        f"--secure-port={layout.ports['kube-apiserver']}",
        f"--advertise-address={HOST}",
        "--endpoint-reconciler-type=none",
        f"--tls-cert-file={layout.pki_dir / 'kube-apiserver.crt'}",
        f"--tls-private-key-file={layout.pki_dir / 'kube-apiserver.key'}",
        f"--client-ca-file={layout.pki_dir / 'ca.crt'}",
        "--authorization-mode=Node,RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={layout.pki_dir / 'sa.pub'}",
        f"--service-account-signing-key-file={layout.pki_dir / 'sa.key'}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--allow-privileged=true",
        "--profiling=false",
        *NO_ETCD_METRICS_FLAGS,
        f"--kubelet-certificate-authority={layout.pki_dir / 'ca.crt'}",
        "--kubelet-preferred-address-types=InternalIP",
    )
    return replace(command, stop_seconds=3.0)


def kube_controller_manager_command(layout: ControlPlaneLayout) -> Command:
    """Return the command with credentials for each controller, which RBAC requires."""
    return new_command(
        layout,
        "kube-controller-manager",
        f"--kubeconfig={layout.kubeconfig('kube-controller-manager')}",
        "--leader-elect=false",
        "--secure-port=0",
        *CLIENT_RATE_FLAGS,
        f"--service-account-private-key-file={layout.pki_dir / 'sa.key'}",
        f"--root-ca-file={layout.pki_dir / 'ca.crt'}",
        "--use-service-account-credentials=true",
        "--controllers=*,-nodeipam,-cloud-node-lifecycle",
        NODE_GRACE_PERIOD_FLAG,
        fingerprint_inputs=(layout.server_url,),
    )


def kube_scheduler_command(layout: ControlPlaneLayout) -> Command:
    return new_command(
        layout,
        "kube-scheduler",
        f"--kubeconfig={layout.kubeconfig('kube-scheduler')}",
        "--leader-elect=false",
        "--secure-port=0",
        *CLIENT_RATE_FLAGS,
        fingerprint_inputs=(layout.server_url,),
    )


def kwok_command(layout: ControlPlaneLayout, kwok_config: str) -> Command:
    """Return the command; only `--server-address` keeps its port on the loopback address."""
    port = layout.ports["kwok"]
    command = new_command(
        layout,
        "kwok",
        f"--kubeconfig={layout.kubeconfig('kwok')}",
        f"--config={layout.kwok_config_path}",
        "--manage-all-nodes=true",
        f"--node-ip={HOST}",
        f"--node-port={port}",
        f"--server-address={HOST}:{port}",
        "--cidr=10.244.0.0/16",
        f"--tls-cert-file={layout.pki_dir / 'kubelet.crt'}",
        f"--tls-private-key-file={layout.pki_dir / 'kubelet.key'}",
        fingerprint_inputs=(layout.server_url, kwok_config),
    )
    return replace(command, environment=SINGLE_THREAD_ENVIRONMENT)


def new_command(
    layout: ControlPlaneLayout, name: str, *arguments: str, fingerprint_inputs: tuple[str, ...] = ()
) -> Command:
    return Command(
        name, (str(layout.programs[name]), *arguments), fingerprint_inputs=fingerprint_inputs
    )
