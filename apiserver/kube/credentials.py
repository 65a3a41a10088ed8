"""Credentials that are reloaded, because tokens and certificates are renewed in place."""

import asyncio
import logging
from dataclasses import replace
from typing import Final

from apiserver.kube.kubeconfig import ConfigLoader, RestConfig
from shared.clock import Clock
from shared.config.loader import ConfigurationError

RELOAD_INTERVAL_SECONDS: Final = 60.0

log = logging.getLogger(__name__)


class Credentials:
    """The current RestConfig; every load creates a new object."""

    def __init__(self, load_config: ConfigLoader, initial: RestConfig, clock: Clock) -> None:
        self._load_config = load_config
        self._clock = clock
        self._lock = asyncio.Lock()
        self._loaded_at = clock.monotonic()
        self.config = initial

    async def fresh_config(self) -> RestConfig:
        """Return the current RestConfig, reloaded if it is older than a minute."""
        if self._clock.monotonic() - self._loaded_at >= RELOAD_INTERVAL_SECONDS:
            await self.reload(self.config)
        return self.config

    async def reload(self, stale: RestConfig) -> RestConfig:
        """Reload the RestConfig, unless another task has reloaded it since `stale` was returned."""
        async with self._lock:
            if self.config is stale:
                self.config = await self._load_or_keep(stale)
                self._loaded_at = self._clock.monotonic()
        return self.config

    async def _load_or_keep(self, stale: RestConfig) -> RestConfig:
        try:
            loaded = await self._load_config()
        except ConfigurationError as error:
            log.warning("credentials_not_read", extra={"error": str(error)})
            return replace(stale)  # files are missing for a moment while they are replaced
        # With a new context for the same certificates no connection would be reused.
        return replace(loaded, ssl_context=stale.ssl_context) if loaded.tls == stale.tls else loaded
