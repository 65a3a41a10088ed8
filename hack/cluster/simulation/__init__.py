"""The configuration of kwok, which simulates kubelets and a volume provisioner.

The Stage files beside this one define the behaviour; `docs/local-cluster.md` lists the labels that
select it.
"""

from pathlib import Path

import yaml

VOLUME_PROVISIONER = "sim.local/volume"
STAGE_FILES = ("nodes.yaml", "pods.yaml", "failures.yaml", "volumes.yaml")
SIMULATED_POD_LOG = (
    "2026-01-01T00:00:00.000000000Z stdout F this pod is simulated: it has no process\n"
)


def kwok_config(state_dir: Path) -> str:
    """Return the file that kwok reads: its options, the log of simulated pods, and all Stages."""
    pod_log = state_dir / "simulated-pod.log"
    pod_log.write_text(SIMULATED_POD_LOG)
    documents = [kwok_options(), cluster_logs(pod_log)]
    folder = Path(__file__).parent
    stages = [(folder / name).read_text() for name in STAGE_FILES]
    return "---\n".join([*(yaml.safe_dump(document) for document in documents), *stages])


def kwok_options() -> dict[str, object]:
    """Return the options of kwok; without the parallelism numbers it does nothing.

    With node leases a new kwok waits forty seconds for those of its predecessor, and then may miss
    pods that were created meanwhile.
    """
    return {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokConfiguration",
        "options": {
            "enableProfilingHandler": False,
            "enablePodsOnNodeSyncListPager": False,
            "enablePodsOnNodeSyncStreamWatch": True,
            "podPlayStageParallelism": 4,
            "nodePlayStageParallelism": 4,
            "podsOnNodeSyncParallelism": 4,
            "nodeLeaseDurationSeconds": 0,
            "enableDebuggingHandlers": True,
        },
    }


def cluster_logs(log_path: Path) -> dict[str, object]:
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "ClusterLogs",
        "metadata": {"name": "all"},
        "spec": {"logs": [{"logsFile": str(log_path)}]},
    }
