"""The command lines of the control plane's processes, as pure functions of the layout."""

from dataclasses import replace

from hack.cluster.layout import Layout
from hack.cluster.ports import HOST
from hack.cluster.process import Command

CLIENT_RATE = ("--kube-api-qps=500", "--kube-api-burst=1000")
# Simulated nodes send no heartbeats: one is lost when its label says so, not when kwok restarts.
NODES_ARE_NOT_LOST_BY_SILENCE = "--node-monitor-grace-period=87600h"
# A single member has no other to hear of, and data that is thrown away can be written seldom. The
# API server need not count objects for metrics. Both are a third of the CPU of a cluster at rest.
SELDOM = ("--heartbeat-interval=500", "--election-timeout=5000", "--backend-batch-interval=1s")
NO_COUNTS = ("--etcd-count-metric-poll-period=0", "--etcd-db-metric-poll-interval=0")
# Two kinds whose first stages kwok compiles at the same instant write one map, and it dies of that.
ONE_THREAD = {"GOMAXPROCS": "1"}


def etcd(layout: Layout) -> Command:
    """Without fsync: the data is thrown away with the cluster, and kill -9 does not need it."""
    peer = f"http://{HOST}:{layout.ports['etcd-peer']}"
    return command(
        layout,
        "etcd",
        "--name=local",
        f"--data-dir={layout.home / 'etcd'}",
        "--unsafe-no-fsync",
        *SELDOM,
        "--log-level=warn",
        f"--listen-client-urls={layout.etcd_url}",
        f"--advertise-client-urls={layout.etcd_url}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=local={peer}",
    )


def kube_apiserver(layout: Layout) -> Command:
    """It would wait a minute for open watches at a stop; its clients must bear a cut anyway."""
    served = command(
        layout,
        "kube-apiserver",
        f"--etcd-servers={layout.etcd_url}",
        f"--bind-address={HOST}",
        f"--secure-port={layout.ports['kube-apiserver']}",
        f"--advertise-address={HOST}",
        "--endpoint-reconciler-type=none",
        f"--tls-cert-file={layout.pki / 'kube-apiserver.crt'}",
        f"--tls-private-key-file={layout.pki / 'kube-apiserver.key'}",
        f"--client-ca-file={layout.pki / 'ca.crt'}",
        "--authorization-mode=Node,RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={layout.pki / 'sa.pub'}",
        f"--service-account-signing-key-file={layout.pki / 'sa.key'}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--allow-privileged=true",
        "--profiling=false",
        *NO_COUNTS,
        f"--kubelet-certificate-authority={layout.pki / 'ca.crt'}",
        "--kubelet-preferred-address-types=InternalIP",
    )
    return replace(served, stop_seconds=3.0)


def kube_controller_manager(layout: Layout) -> Command:
    """With the controllers' own credentials, without which RBAC refuses most of their work."""
    return command(
        layout,
        "kube-controller-manager",
        f"--kubeconfig={layout.kubeconfig('kube-controller-manager')}",
        "--leader-elect=false",
        "--secure-port=0",
        *CLIENT_RATE,
        f"--service-account-private-key-file={layout.pki / 'sa.key'}",
        f"--root-ca-file={layout.pki / 'ca.crt'}",
        "--use-service-account-credentials=true",
        "--controllers=*,-nodeipam,-cloud-node-lifecycle",
        NODES_ARE_NOT_LOST_BY_SILENCE,
        inputs=(layout.server_url,),
    )


def kube_scheduler(layout: Layout) -> Command:
    return command(
        layout,
        "kube-scheduler",
        f"--kubeconfig={layout.kubeconfig('kube-scheduler')}",
        "--leader-elect=false",
        "--secure-port=0",
        *CLIENT_RATE,
        inputs=(layout.server_url,),
    )


def kwok(layout: Layout, configuration: str) -> Command:
    """`--server-address` keeps its port on loopback; the node address alone does not."""
    port = layout.ports["kwok"]
    played = command(
        layout,
        "kwok",
        f"--kubeconfig={layout.kubeconfig('kwok')}",
        f"--config={layout.kwok_configuration}",
        "--manage-all-nodes=true",
        f"--node-ip={HOST}",
        f"--node-port={port}",
        f"--server-address={HOST}:{port}",
        "--cidr=10.244.0.0/16",
        f"--tls-cert-file={layout.pki / 'kubelet.crt'}",
        f"--tls-private-key-file={layout.pki / 'kubelet.key'}",
        inputs=(layout.server_url, configuration),
    )
    return replace(played, environment=ONE_THREAD)


def command(layout: Layout, name: str, *arguments: str, inputs: tuple[str, ...] = ()) -> Command:
    return Command(name, (str(layout.programs[name]), *arguments), inputs=inputs)
