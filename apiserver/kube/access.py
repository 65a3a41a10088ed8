"""How to reach an API server, and as whom."""

import hashlib
import ssl
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class TLS:
    """Which certificates a connection uses; equal when the files hold the same."""

    authority: str | None
    certificate: str | None
    key: str | None
    verify: bool
    digest: str

    @classmethod
    def of(
        cls, authority: str | None, certificate: str | None, key: str | None, *, verify: bool
    ) -> "TLS":
        """Look into the files, so that a certificate renewed in place is noticed."""
        digest = hashlib.sha256()
        for name in (authority, certificate, key):
            digest.update(Path(name).read_bytes() if name else b"-")
        return cls(authority, certificate, key, verify, digest.hexdigest())

    def context(self) -> ssl.SSLContext:
        """The context for connections; raises OSError or ssl.SSLError on a bad certificate."""
        context = ssl.create_default_context(cafile=self.authority)
        if self.certificate:
            context.load_cert_chain(self.certificate, self.key)
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


@dataclass(frozen=True, slots=True)
class Access:
    """One server and one identity, as they were configured at one moment."""

    server: str
    authorization: str | None = field(default=None, repr=False)
    tls: TLS | None = None
    context: ssl.SSLContext | None = field(default=None, repr=False, compare=False)
    server_name: str | None = None
    proxy: str | None = None
