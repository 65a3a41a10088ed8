"""The file `.local/env`: the addresses of the local system.

Shells (`. .local/env`) and scripts read the file.
"""

import shlex
from collections.abc import Mapping

from hack.cluster.nats_server import NATSServer
from hack.local import product_processes
from hack.local.clusters import RunningCluster
from hack.local.settings import LocalSettings


def render_env_file(values: Mapping[str, str]) -> str:
    """Return lines of NAME=value, then an export for programs that the shell starts."""
    lines = [f"{name}={shlex.quote(value)}" for name, value in values.items()]
    return "\n".join([*lines, f"export {' '.join(values)}", ""])


def env_file_values(
    chosen: LocalSettings, cluster: RunningCluster, nats_server: NATSServer
) -> dict[str, str]:
    return {
        "BASE_URL": product_processes.program_url(chosen.ports, product_processes.RUNTIME_API),
        "CONTROLLER_URL": product_processes.program_url(chosen.ports, product_processes.CONTROLLER),
        "ACTIVATOR_URL": product_processes.program_url(chosen.ports, product_processes.ACTIVATOR),
        "KUBECONFIG": str(cluster.kubectl.kubeconfig),
        "KUBECTL": str(cluster.kubectl.program),
        "NATS_URL": nats_server.admin_url,
        "POD_RUNNER": str(int(chosen.cluster == "local")),
    }
