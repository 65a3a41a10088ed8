"""URL paths of the API, for routes and Location headers."""

from typing import Final
from urllib.parse import quote

UNITS: Final = "/api/v1/gpu-units"
STORAGES: Final = "/api/v1/gpu-storages"
OPERATOR_PREFIX: Final = "/api/v1/operator/"
STOCK: Final = f"{OPERATOR_PREFIX}stock-units"
POOLS: Final = f"{OPERATOR_PREFIX}stock-pools"
SPECS: Final = f"{OPERATOR_PREFIX}specs"
JOBS: Final = f"{OPERATOR_PREFIX}jobs"
FUNCTIONS: Final = "/api/v1/serverless/functions"
INVOCATIONS: Final = "/api/v1/serverless/invocations"
DEAD_LETTERS: Final = "/api/v1/serverless/dead-letters"


def unit_path(name: str) -> str:
    """Return the path of a unit."""
    return f"{UNITS}/{name}"


def storage_path(name: str) -> str:
    """Return the path of a storage."""
    return f"{STORAGES}/{name}"


def pool_path(name: str) -> str:
    """Return the path of a stock pool."""
    return f"{POOLS}/{name}"


def function_path(name: str) -> str:
    """Return the path of a function."""
    return f"{FUNCTIONS}/{name}"


def invocation_path(function_name: str, invocation_id: str) -> str:
    """Return the path of an invocation."""
    return f"{INVOCATIONS}/{function_name}/{invocation_id}"


def job_path(operation_id: str) -> str:
    """Return the path of a job; an id of dots only is quoted, or it would be a relative path."""
    quoted = quote(operation_id, safe="")
    return f"{JOBS}/{quoted.replace('.', '%2E') if not quoted.strip('.') else quoted}"
