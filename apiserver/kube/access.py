"""How to reach an API server, and as whom."""

import hashlib
import ssl
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class TLSConfig:
    """Which certificates a connection uses; equal when the files hold the same."""

    ca_file: str | None
    cert_file: str | None
    key_file: str | None
    verify: bool
    digest: str

    @classmethod
    def load(
        cls, ca_file: str | None, cert_file: str | None, key_file: str | None, *, verify: bool
    ) -> "TLSConfig":
        """Look into the files, so that a certificate renewed in place is noticed."""
        digest = hashlib.sha256()
        for name in (ca_file, cert_file, key_file):
            digest.update(Path(name).read_bytes() if name else b"-")
        return cls(ca_file, cert_file, key_file, verify, digest.hexdigest())

    def create_ssl_context(self) -> ssl.SSLContext:
        """The context for connections; raises OSError or ssl.SSLError on a bad certificate."""
        context = ssl.create_default_context(cafile=self.ca_file)
        if self.cert_file:
            context.load_cert_chain(self.cert_file, self.key_file)
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


@dataclass(frozen=True, slots=True)
class RestConfig:
    """One server and one identity, as they were configured at one moment."""

    server: str
    authorization: str | None = field(default=None, repr=False)
    tls: TLSConfig | None = None
    ssl_context: ssl.SSLContext | None = field(default=None, repr=False, compare=False)
    tls_server_name: str | None = None
    proxy: str | None = None
