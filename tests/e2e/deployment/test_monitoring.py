"""Prometheus with our alerts: it loads them, and they fire when they should."""

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from hack.local.state_dir import ROOT
from tests.support.checks.monitoring_manifests import rule_groups

CASES = ROOT / "tests" / "e2e" / "deployment" / "alerts.yaml"


@pytest.fixture(scope="module")
def promtool() -> str:
    path = shutil.which("promtool")
    if path is None:
        pytest.skip("promtool is not installed; on Debian it is in the package prometheus")
    return path


def run_checked(*command: str, folder: Path) -> str:
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_prometheus_accepts_the_rules(promtool: str, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rule_groups()))
    assert "rules found" in run_checked(promtool, "check", "rules", "rules.yaml", folder=tmp_path)


def test_alerts_fire_exactly_in_their_cases(promtool: str, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rule_groups()))
    shutil.copy(CASES, tmp_path)
    assert "SUCCESS" in run_checked(promtool, "test", "rules", CASES.name, folder=tmp_path)


def test_every_alert_has_a_case_in_which_it_fires() -> None:
    groups = rule_groups()["groups"]
    fired = {
        case["alertname"]
        for test in yaml.safe_load(CASES.read_text())["tests"]
        for case in test["alert_rule_test"]
        if case.get("exp_alerts")
    }
    assert fired == {rule["alert"] for group in groups for rule in group["rules"]}
