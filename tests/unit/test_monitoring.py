"""Alerts lead to the runbook, and the reader of expressions finds what is in them."""

import re

from hack.local.home import ROOT
from tests.support.monitoring import Asked, alerts, asked_for, shown

RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()
PARTS = ("**Means.**", "**Look.**", "**Do.**")


def entries() -> dict[str, str]:
    """The text of each entry of the runbook by its heading."""
    _, *parts = re.split(r"^### ", RUNBOOK, flags=re.MULTILINE)
    return {part.partition("\n")[0].strip(): part for part in parts}


def test_every_alert_has_its_entry_in_the_runbook_and_no_entry_is_left_over() -> None:
    assert list(entries()) == [alert["alert"] for alert in alerts()]


def test_every_alert_names_the_place_of_its_entry() -> None:
    for alert in alerts():
        anchor = f"docs/runbook.md#{alert['alert'].lower()}"
        assert alert["annotations"]["runbook_url"] == anchor
        assert alert["annotations"]["summary"]
        assert alert["labels"]["severity"] in ("critical", "warning")


def test_every_entry_says_what_it_means_what_to_look_at_and_what_to_do() -> None:
    for name, text in entries().items():
        assert all(part in text for part in PARTS), name
        assert re.search(r"^(kubectl|curl) ", text, re.MULTILINE), f"{name}: no command to type"


def test_metrics_are_found_in_expressions() -> None:
    asked = asked_for('sum by (a) (rate(one_total{b=~"x|y", c!="d"}[5m])) or 0 * max(two) > 1')
    assert asked == {Asked("one_total", frozenset({"b", "c"})), Asked("two", frozenset())}


def test_metrics_are_found_in_a_stretch_of_an_expression() -> None:
    assert asked_for("delta(max by (a) (one)[15m:1m])") == {Asked("one", frozenset())}


def test_series_are_found_on_a_page() -> None:
    page = '# HELP a b\n# TYPE a gauge\na{x="1",y="2"} 3\nb 4\n# TYPE c_total counter\n'
    assert shown(page) == {"a": {"x", "y"}, "b": set(), "c_total": set()}
