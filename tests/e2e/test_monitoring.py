"""What dashboard and alerts ask for is there, and the alerts fire when they should."""

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from hack.local.home import ROOT
from tests.support.installation import Installation
from tests.support.monitoring import asked_for, expressions, rule_groups, shown

AWAITED = ("gpuruntime_function_", "gpuruntime_invocations_", "gpuruntime_dead_letters")
CASES = ROOT / "tests" / "e2e" / "alerts.yaml"


@pytest.mark.asyncio(loop_scope="module")
async def test_every_metric_that_is_asked_for_is_there(product: Installation) -> None:
    await product.a_ready_unit()
    pages = [await each.text("/metrics") for each in (product.controller, product.api)]
    there = {name: labels for page in pages for name, labels in shown(page).items()}
    asked = {each for expression in expressions() for each in asked_for(expression)}

    asked = {each for each in asked if not each.metric.startswith(AWAITED)}
    missing = {each for each in asked if each.metric not in there}
    assert not missing
    unlabelled = {each for each in asked if not each.labels <= there[each.metric]}
    assert not unlabelled


@pytest.fixture(scope="module")
def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed; on Debian it is in the package prometheus")
    return found


def said_by(*command: str, folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_prometheus_takes_the_rules(promtool: str, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rule_groups()))
    assert "rules found" in said_by(promtool, "check", "rules", "rules.yaml", folder=tmp_path)


def test_alerts_fire_when_they_should_and_only_then(promtool: str, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rule_groups()))
    shutil.copy(CASES, tmp_path)
    assert "SUCCESS" in said_by(promtool, "test", "rules", CASES.name, folder=tmp_path)


def test_every_alert_has_a_case_in_which_it_fires() -> None:
    groups = rule_groups()["groups"]
    fired = {
        case["alertname"]
        for test in yaml.safe_load(CASES.read_text())["tests"]
        for case in test["alert_rule_test"]
        if case.get("exp_alerts")
    }
    assert fired == {rule["alert"] for group in groups for rule in group["rules"]}
