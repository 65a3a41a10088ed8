"""The generator of manifests/monitoring/dashboard.json: the panels, laid out for Grafana."""

import json
from collections.abc import Sequence
from typing import Any

from hack.generate.dashboard_panels import DASHBOARD_ROWS, Panel, Row

PANEL_WIDTH = 8
PANEL_HEIGHT = 7
GRID_COLUMNS = 24


def dashboard_json() -> str:
    """Return the dashboard in Grafana's format."""
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
    """Return the variable that selects the Prometheus server."""
    return {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def layout_panels(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Lay out each row of panels under its title, from left to right, and wrap the row."""
    panels: list[dict[str, Any]] = []
    top = 0
    for row in rows:
        position = {"x": 0, "y": top, "w": GRID_COLUMNS, "h": 1}
        panels.append(
            {"id": len(panels) + 1, "type": "row", "title": row.title, "gridPos": position}
        )
        for index, panel in enumerate(row.panels):
            line, column = divmod(index, GRID_COLUMNS // PANEL_WIDTH)
            position = {
                "x": column * PANEL_WIDTH,
                "y": top + 1 + line * PANEL_HEIGHT,
                "w": PANEL_WIDTH,
                "h": PANEL_HEIGHT,
            }
            panels.append({"id": len(panels) + 1, **timeseries_panel(panel), "gridPos": position})
        top += 1 + PANEL_HEIGHT * -(-len(row.panels) * PANEL_WIDTH // GRID_COLUMNS)
    return panels


def timeseries_panel(panel: Panel) -> dict[str, Any]:
    target = {"refId": "A", "expr": panel.expression, "legendFormat": panel.legend}
    return {
        "type": "timeseries",
        "title": panel.title,
        "datasource": {"type": "prometheus", "uid": "${source}"},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [target],
    }
