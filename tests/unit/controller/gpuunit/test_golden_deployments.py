"""A new controller leaves the pods alone that an older one has started."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from controller.child import Child, Step, next_step, stamped
from controller.gpuunit.children import asked_for
from controller.kinds import DEPLOYMENTS
from controller.runtime.digest import digest
from shared.deployment import Deployment
from shared.reasons import UnitReason
from tests.unit.controller.gpuunit.golden_deployments import (
    OLDER,
    PATHS,
    made_of,
    shipped_settings,
    stored_unit,
)

RELEASED = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
WARNING = (
    "every pod of such a unit would restart when this controller is installed: if that is "
    "wanted, see golden_deployments.py"
)


def released(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@RELEASED
def test_the_pods_of_a_unit_stay_as_they_were_released(path: Path) -> None:
    golden = released(path)
    made = made_of(stored_unit(path))

    assert made["deployment"]["spec"]["template"] == golden["deployment"]["spec"]["template"], (
        WARNING
    )
    assert made["deployment"] == golden["deployment"]
    assert made["hash"] == golden["hash"], "the hash of what was applied is another one"


@pytest.mark.parametrize("path", [*PATHS, *OLDER], ids=lambda path: path.stem)
def test_a_new_controller_finds_nothing_to_do(path: Path) -> None:
    """With the Deployment in the cluster as the released controller has written it."""
    golden = released(path)
    unit = stored_unit(path)
    live = msgspec.convert(stamped(golden["deployment"], golden["hash"]), Deployment)
    body = asked_for(unit, shipped_settings(), live)
    child = Child(DEPLOYMENTS, stamped(body, digest(body)), live, UnitReason.DEPLOYMENT_SYNC_FAILED)

    assert next_step(child) is Step.NOTHING
