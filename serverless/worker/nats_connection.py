"""The connection of a worker to NATS."""

import logging
from typing import Final

from serverless.nats.connection import ConnectionLog, QueueConnection
from serverless.nats.credentials import CredentialsSource, NATSCredentials, redact_url
from serverless.worker.intervals import Intervals
from shared.clock import Clock

CLIENT_NAME: Final = "gpu-runtime-worker"
RECONNECT_WAIT_SECONDS: Final = 1

log = logging.getLogger(__name__)


class WorkerConnectionLog(ConnectionLog):
    """Logs every error as well: the readiness of a worker does not show the last one."""

    def connected(self, credentials: NATSCredentials) -> None:
        """Log a connect or a reconnect."""
        log.info("queue_connected", extra={"url": redact_url(credentials.url)})

    def disconnected(self, last_error: str) -> None:
        """Log the loss of an established connection."""
        log.warning("queue_lost")

    def failed(self, error: Exception) -> None:
        """Log an error that nats-py reports."""
        log.warning("queue_error", extra={"reason": str(error) or repr(error)})

    def unreachable(self, error: Exception) -> None:
        """Log a connect that failed."""
        log.warning("queue_unreachable", extra={"reason": str(error) or repr(error)})


def worker_connection(
    credentials_source: CredentialsSource, intervals: Intervals, clock: Clock
) -> QueueConnection:
    """Return the connection of a worker, not connected yet."""
    return QueueConnection(
        credentials_source,
        CLIENT_NAME,
        clock,
        retry_seconds=intervals.retry_seconds,
        reconnect_wait_seconds=RECONNECT_WAIT_SECONDS,
        connection_log=WorkerConnectionLog(),
    )
