"""docs/openapi.json: the document that the API serves at /swagger/doc.json."""

import json

from prometheus_client import CollectorRegistry

from apiserver.http.openapi import document as served
from apiserver.routes import routes
from shared.config.version import version


def document() -> str:
    made = served(routes(CollectorRegistry()), version())
    return json.dumps(made, indent=2, sort_keys=True) + "\n"
