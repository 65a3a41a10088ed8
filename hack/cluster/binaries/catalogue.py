"""The programs of the control plane: their Go packages, versions and version commands."""

from dataclasses import dataclass

from hack.cluster.binaries.versions import pinned_version

KUBERNETES = pinned_version("kubernetes", "k8s.io/kubernetes")
ETCD = pinned_version("etcd", "go.etcd.io/etcd/server/v3")
KWOK = pinned_version("kwok", "sigs.k8s.io/kwok")


@dataclass(frozen=True)
class Program:
    """A Go program: its product (a folder of hack/tools), package, version and flags."""

    name: str
    product: str
    package: str
    version: str
    version_arguments: tuple[str, ...] = ("--version",)
    link_flags: str = "-s -w"


def kubernetes_program(name: str, *version_arguments: str) -> Program:
    version_flags = " ".join(
        f"-X {package}.gitVersion={KUBERNETES}"
        for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    )
    return Program(
        name=name,
        product="kubernetes",
        package=f"k8s.io/kubernetes/cmd/{name}",
        version=KUBERNETES,
        version_arguments=version_arguments or ("--version",),
        link_flags=f"-s -w {version_flags}",
    )


PROGRAMS = (
    Program("etcd", "etcd", "go.etcd.io/etcd/server/v3", ETCD),
    kubernetes_program("kube-apiserver"),
    kubernetes_program("kube-controller-manager"),
    kubernetes_program("kube-scheduler"),
    kubernetes_program("kubectl", "version", "--client"),
    Program("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok", KWOK),
)
