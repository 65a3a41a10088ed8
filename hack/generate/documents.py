"""The generators of docs/configuration.md and docs/openapi.json.

The API serves the OpenAPI document at /swagger/doc.json.
"""

import json
from collections.abc import Iterable

from prometheus_client import CollectorRegistry

from apiserver.config import Config as APIConfig
from apiserver.http.openapi import build_openapi
from apiserver.routes import create_routes
from controller.config import Config as ControllerConfig
from serverless.activator.config import Config as ActivatorConfig
from serverless.resultstore.config import Config as ResultStoreConfig
from shared.config.loader import ConfigKey, config_keys
from shared.config.version import product_version

TITLE = """# Configuration

Each process reads one YAML file: `--config` names it. Every key has a default. An unknown key or an
invalid value ends the process with exit code 2 and a message that names the key. Durations are
written `500ms`, `1s`, `5m`, `24h`. The files that `make up` uses are in `hack/config/`.
"""


def configuration_markdown() -> str:
    sections = [
        section("runtime-api", "python -m apiserver", config_keys(APIConfig)),
        section("controller", "python -m controller", config_keys(ControllerConfig)),
        section("activator", "python -m serverless.activator", config_keys(ActivatorConfig)),
        section("result-store", "python -m serverless.resultstore", config_keys(ResultStoreConfig)),
    ]
    return "\n".join([TITLE, *sections])


def section(name: str, command: str, config_keys: Iterable[ConfigKey]) -> str:
    rows = [
        f"| `{key.name}` | {escape_cell(key.accepted)} | {default_cell(key)} "
        f"| {escape_cell(key.description)} |"
        for key in config_keys
    ]
    head = [
        f"## {name} (`{command}`)",
        "",
        "| key | accepts | default | meaning |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *rows, ""])


def default_cell(key: ConfigKey) -> str:
    return f"`{key.default}`" if key.default.strip("'\"") else "empty"


def escape_cell(text: str) -> str:
    return text.replace("|", "\\|")


def openapi_json() -> str:
    document = build_openapi(create_routes(CollectorRegistry()), product_version())
    return json.dumps(document, indent=2, sort_keys=True) + "\n"
