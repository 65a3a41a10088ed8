"""Tests of the audit: it counts the writes of an account."""

from pathlib import Path

from tests.bench.controller.audit_log import audit_policy, count_writes

LINES = (
    '{"verb":"patch","objectRef":{"resource":"deployments"},"responseStatus":{"code":201}}',
    '{"verb":"patch","objectRef":{"resource":"deployments"},"responseStatus":{"code":200}}',
    '{"verb":"patch","objectRef":{"resource":"gpuunits","subresource":"status"}}',
    '{"verb":"patch","objectRef":{"resource":"gpuunits"},"responseStatus":{"code":409}}',
    '{"verb":"create","objectRef":{"resource":"events","apiGroup":"events.k8s.io"}}',
)


def test_writes_are_counted_by_verb_and_resource_without_events(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.write_text("".join(f"{line}\n" for line in LINES))
    assert count_writes(log) == {
        "patch deployments": 2,
        "patch gpuunits/status": 1,
        "patch gpuunits 409": 1,
    }


def test_only_requests_of_the_account_are_audited() -> None:
    rules = audit_policy("account")["rules"]
    assert isinstance(rules, list)
    assert [rule.get("users") for rule in rules] == [["account"], None]
    assert rules[-1] == {"level": "None"}
