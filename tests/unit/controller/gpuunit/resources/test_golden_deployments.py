"""Tests of upgrades: a new controller does not restart the pods that an older one started."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from msgspec.structs import replace

from controller.apply.child import Child, ChildAction, next_action, with_applied_hash
from controller.config import Config
from controller.gpuunit.resources.children import desired_deployment
from controller.gpuunit.settings import UnitSettings
from controller.gpuunit.workload import Workload
from controller.kinds import DEPLOYMENTS
from controller.runtime.digest import json_digest
from hack.images import image_tag
from hack.local.state_dir import ROOT
from shared.config.version import product_version
from shared.k8s.deployment import Deployment
from shared.k8s.meta import ObjectMeta
from shared.k8s.pod import ContainerState, ContainerStateWaiting, ContainerStatus, Pod, PodStatus
from shared.v1alpha1.reasons import UnitReason
from tests.unit.controller.gpuunit.resources.golden_deployments import (
    GOLDEN_DIR,
    GOLDEN_PATHS,
    OLDER_PATHS,
    build_deployment,
    load_unit,
    shipped_settings,
)

NEW_WORKER = "registry.example/gpu-runtime/worker:9.9.9"
NO_WORKLOAD = Workload()
WORKER = GOLDEN_DIR / "worker.json"
ALL = pytest.mark.parametrize("path", [*GOLDEN_PATHS, *OLDER_PATHS], ids=lambda path: path.stem)
RELEASED = pytest.mark.parametrize("path", GOLDEN_PATHS, ids=lambda path: path.stem)
WARNING = (
    "every pod of such a unit would restart when this controller is installed: if that is "
    "wanted, see golden_deployments.py"
)


def released(path: Path) -> dict[str, Any]:
    golden: dict[str, Any] = json.loads(path.read_text())
    return golden


@RELEASED
def test_the_deployment_of_a_unit_equals_the_released_one(path: Path) -> None:
    golden = released(path)
    built = build_deployment(load_unit(path))

    assert built["deployment"]["spec"]["template"] == golden["deployment"]["spec"]["template"], (
        WARNING
    )
    assert built["deployment"] == golden["deployment"]
    assert built["hash"] == golden["hash"], "the hash of what was applied is another one"


def in_cluster(path: Path) -> Deployment:
    """Return the Deployment as the released controller wrote it."""
    golden = released(path)
    return msgspec.convert(with_applied_hash(golden["deployment"], golden["hash"]), Deployment)


def action_for(path: Path, settings: UnitSettings, workload: Workload = NO_WORKLOAD) -> ChildAction:
    live = in_cluster(path)
    body = desired_deployment(load_unit(path), settings, live, workload)
    child = Child(
        DEPLOYMENTS,
        with_applied_hash(body, json_digest(body)),
        live,
        UnitReason.DEPLOYMENT_SYNC_FAILED,
    )
    return next_action(child)


@ALL
def test_a_new_controller_writes_nothing(path: Path) -> None:
    assert action_for(path, shipped_settings()) is ChildAction.NONE


@ALL
def test_a_new_image_of_the_worker_alone_restarts_no_pod(path: Path) -> None:
    assert action_for(path, shipped_settings(NEW_WORKER)) is ChildAction.NONE


def test_a_new_worker_image_is_applied_with_the_next_pod_change() -> None:
    unit = load_unit(WORKER)
    changed = replace(unit, spec=replace(unit.spec, image="example/other:2"))
    body = desired_deployment(
        changed, shipped_settings(NEW_WORKER), in_cluster(WORKER), NO_WORKLOAD
    )
    (worker,) = body["spec"]["template"]["spec"]["initContainers"]

    assert worker["image"] == NEW_WORKER


def test_a_worker_whose_image_cannot_be_pulled_gets_the_new_image() -> None:
    waiting = ContainerState(waiting=ContainerStateWaiting(reason="ImagePullBackOff"))
    status = PodStatus(init_container_statuses=(ContainerStatus(name="worker", state=waiting),))
    workload = Workload(current_pods=(Pod(metadata=ObjectMeta(name="p"), status=status),))

    assert action_for(WORKER, shipped_settings(), workload) is ChildAction.NONE
    assert action_for(WORKER, shipped_settings(NEW_WORKER), workload) is not ChildAction.NONE


def test_the_configuration_and_the_manifests_have_the_worker_image_of_this_release() -> None:
    image = image_tag("worker", product_version())
    assert Config().sidecar.image == image
    for path in ("controller/controller.yaml", "overlays/dev/controller.yaml"):
        config = yaml.safe_load((ROOT / "manifests" / path).read_text())
        assert config["sidecar"]["image"] == image
