"""How a worker and the user's code speak: HTTP on a unix socket, with these names."""

from typing import Final

SOCKET_PATH: Final = "/var/run/gpu-runtime/framework.sock"
INVOKE_PATH: Final = "/invoke"
HEALTH_PATH: Final = "/healthz"

INVOCATION_HEADER: Final = "X-Invocation-ID"
FUNCTION_HEADER: Final = "X-Function"
RUN_HEADER: Final = "X-Run"
ATTEMPT_HEADER: Final = "X-Attempt"
DEADLINE_HEADER: Final = "X-Deadline"
ATTRIBUTES_HEADER: Final = "X-Attributes"
RETRYABLE_HEADER: Final = "X-Retryable"
