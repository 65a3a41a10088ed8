"""What kwok plays: kubelets that start, fail and stop pods, and a volume provisioner.

The Stage files beside this one say how; `docs/local-cluster.md` lists the labels that choose them.
"""

from pathlib import Path

import yaml

VOLUME_PROVISIONER = "sim.local/volume"
STAGE_FILES = ("nodes.yaml", "pods.yaml", "failures.yaml", "volumes.yaml")
SIMULATED_POD_LOG = (
    "2026-01-01T00:00:00.000000000Z stdout F this pod is simulated: it has no process\n"
)


def kwok_config(state_dir: Path) -> str:
    """The one file that kwok reads: its options, what `kubectl logs` shows, and all Stages."""
    pod_log = state_dir / "simulated-pod.log"
    pod_log.write_text(SIMULATED_POD_LOG)
    documents = [kwok_options(), cluster_logs(pod_log)]
    folder = Path(__file__).parent
    stages = [(folder / name).read_text() for name in STAGE_FILES]
    return "---\n".join([*(yaml.safe_dump(document) for document in documents), *stages])


def kwok_options() -> dict[str, object]:
    """Without the parallelism numbers kwok starts and then plays nothing.

    With node leases a kwok would wait forty seconds for those of the one before it, and then may
    overlook the pods that came meanwhile.
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
