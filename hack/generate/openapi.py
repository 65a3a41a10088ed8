"""docs/openapi.json: the document that the API serves at /swagger/doc.json."""

import json

from prometheus_client import CollectorRegistry

from apiserver.http.openapi import build_openapi as served
from apiserver.routes import create_routes
from shared.config.version import product_version


def openapi_json() -> str:
    made = served(create_routes(CollectorRegistry()), product_version())
    return json.dumps(made, indent=2, sort_keys=True) + "\n"
