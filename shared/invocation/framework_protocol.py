"""The names of the HTTP protocol between a worker and the user's code on a unix socket."""

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
