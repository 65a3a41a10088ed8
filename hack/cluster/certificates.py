"""The certificate authority of one cluster, and the certificates that it signs."""

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

CERTIFICATE_LIFETIME = timedelta(days=365)
CLOCK_SKEW = timedelta(minutes=5)


@dataclass(frozen=True)
class CertificateRequest:
    """The subject of a certificate (common name, group), and its addresses if it serves."""

    name: str
    common_name: str
    organization: str = ""
    addresses: tuple[str, ...] = ()
    dns_names: tuple[str, ...] = ()


class CertificateAuthority:
    """Keys and certificates in one folder; existing ones are kept."""

    def __init__(self, folder: Path, now: datetime) -> None:
        self.folder = folder
        self._now = now
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._key, self._certificate = self._load_or_create()

    @property
    def certificate_path(self) -> Path:
        return self.folder / "ca.crt"

    def issue(self, request: CertificateRequest) -> tuple[Path, Path]:
        """Return the files of a certificate and its key, created and signed if they are missing."""
        certificate_path = self.folder / f"{request.name}.crt"
        key_path = self.folder / f"{request.name}.key"
        if not certificate_path.exists():
            key = ec.generate_private_key(ec.SECP256R1())
            certificate = self._sign(request, key.public_key())
            write_key(key_path, key)
            write_certificate(certificate_path, certificate)
        return certificate_path, key_path

    def service_account_keys(self) -> tuple[Path, Path]:
        """Return the files of the private and public key of ServiceAccount tokens."""
        private_path, public_path = self.folder / "sa.key", self.folder / "sa.pub"
        if not public_path.exists():
            key = new_rsa_key()
            write_key(private_path, key)
            public_path.write_bytes(
                key.public_key().public_bytes(
                    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
                )
            )
        return private_path, public_path

    def _load_or_create(self) -> tuple[PrivateKey, x509.Certificate]:
        key_path = self.folder / "ca.key"
        if self.certificate_path.exists():
            key = serialization.load_pem_private_key(key_path.read_bytes(), password=None)
            if isinstance(key, PrivateKey):
                return key, x509.load_pem_x509_certificate(self.certificate_path.read_bytes())
        # The API server verifies a client's certificate at every request. An RSA signature is
        # verified three times as fast as one of an elliptic curve.
        key = new_rsa_key()
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gpu-runtime-local")])
        usage = key_usage(signs_certificates=True)
        certificate = (
            self._new_builder(name, name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
            .sign(key, hashes.SHA256())
        )
        write_key(key_path, key)
        write_certificate(self.certificate_path, certificate)
        return key, certificate

    def _sign(
        self, request: CertificateRequest, public_key: ec.EllipticCurvePublicKey
    ) -> x509.Certificate:
        names: list[x509.GeneralName] = [x509.DNSName(name) for name in request.dns_names]
        names += [x509.IPAddress(ipaddress.ip_address(address)) for address in request.addresses]
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = self._new_builder(subject_name(request), self._certificate.subject, public_key)
        if names:
            usages.append(ExtendedKeyUsageOID.SERVER_AUTH)
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        issuer_key = self._key.public_key()
        return (
            builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False
            )
            .sign(self._key, hashes.SHA256())
        )

    def _new_builder(
        self,
        subject: x509.Name,
        issuer: x509.Name,
        public_key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey,
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - CLOCK_SKEW)
            .not_valid_after(self._now + CERTIFICATE_LIFETIME)
        )


def certificate_authority(folder: Path) -> CertificateAuthority:
    """Return the authority in `folder`, created if it is missing."""
    return CertificateAuthority(folder, datetime.now(UTC))  # noqa: TID251 - where a command reads the time


def subject_name(request: CertificateRequest) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, request.common_name)]
    if request.organization:
        attributes.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, request.organization))
    return x509.Name(attributes)


def key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def new_rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def write_key(path: Path, key: PrivateKey) -> None:
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


def write_certificate(path: Path, certificate: x509.Certificate) -> None:
    """Write a certificate after its key and by rename, so that it is complete if it exists."""
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    unfinished.replace(path)
