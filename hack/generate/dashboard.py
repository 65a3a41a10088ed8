"""manifests/monitoring/dashboard.json: the panels, laid out as Grafana takes them."""

import json
from collections.abc import Sequence
from typing import Any

from hack.generate.dashboard_panels import ROWS, Panel, Row

WIDTH = 8
HEIGHT = 7
COLUMNS = 24


def document() -> str:
    """The dashboard as Grafana takes it."""
    dashboard = {
        "uid": "gpu-runtime",
        "title": "GPU Runtime",
        "tags": ["gpu-runtime"],
        "schemaVersion": 39,
        "editable": False,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [source()]},
        "panels": laid_out(ROWS),
    }
    return json.dumps(dashboard, indent=2) + "\n"


def source() -> dict[str, Any]:
    """Which Prometheus is asked."""
    return {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def laid_out(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Each row under its title, from left to right and on below."""
    found: list[dict[str, Any]] = []
    top = 0
    for row in rows:
        place = {"x": 0, "y": top, "w": COLUMNS, "h": 1}
        found.append({"id": len(found) + 1, "type": "row", "title": row.title, "gridPos": place})
        for index, panel in enumerate(row.panels):
            line, column = divmod(index, COLUMNS // WIDTH)
            place = {"x": column * WIDTH, "y": top + 1 + line * HEIGHT, "w": WIDTH, "h": HEIGHT}
            found.append({"id": len(found) + 1, **graph(panel), "gridPos": place})
        top += 1 + HEIGHT * -(-len(row.panels) * WIDTH // COLUMNS)
    return found


def graph(panel: Panel) -> dict[str, Any]:
    asked = {"refId": "A", "expr": panel.expression, "legendFormat": panel.legend}
    return {
        "type": "timeseries",
        "title": panel.title,
        "datasource": {"type": "prometheus", "uid": "${source}"},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [asked],
    }
