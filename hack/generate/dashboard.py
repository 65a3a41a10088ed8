"""manifests/monitoring/dashboard.json: the panels, laid out as Grafana takes them."""

import json
from collections.abc import Sequence
from typing import Any

from hack.generate.dashboard_panels import DASHBOARD_ROWS, Panel, Row

PANEL_WIDTH = 8
PANEL_HEIGHT = 7
GRID_COLUMNS = 24


def dashboard_json() -> str:
    """The dashboard as Grafana takes it."""
    dashboard = {
        "uid": "gpu-runtime",
        "title": "GPU Runtime",
        "tags": ["gpu-runtime"],
        "schemaVersion": 39,
        "editable": False,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [datasource_variable()]},
        "panels": layout_panels(DASHBOARD_ROWS),
    }
    return json.dumps(dashboard, indent=2) + "\n"


def datasource_variable() -> dict[str, Any]:
    """Which Prometheus is asked."""
    return {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def layout_panels(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Each row under its title, from left to right and on below."""
    found: list[dict[str, Any]] = []
    top = 0
    for row in rows:
        place = {"x": 0, "y": top, "w": GRID_COLUMNS, "h": 1}
        found.append({"id": len(found) + 1, "type": "row", "title": row.title, "gridPos": place})
        for index, panel in enumerate(row.panels):
            line, column = divmod(index, GRID_COLUMNS // PANEL_WIDTH)
            place = {
                "x": column * PANEL_WIDTH,
                "y": top + 1 + line * PANEL_HEIGHT,
                "w": PANEL_WIDTH,
                "h": PANEL_HEIGHT,
            }
            found.append({"id": len(found) + 1, **timeseries_panel(panel), "gridPos": place})
        top += 1 + PANEL_HEIGHT * -(-len(row.panels) * PANEL_WIDTH // GRID_COLUMNS)
    return found


def timeseries_panel(panel: Panel) -> dict[str, Any]:
    asked = {"refId": "A", "expr": panel.expression, "legendFormat": panel.legend}
    return {
        "type": "timeseries",
        "title": panel.title,
        "datasource": {"type": "prometheus", "uid": "${source}"},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [asked],
    }
