"""The Secret with the passwords and keys of NATS and of our own processes."""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Final

import msgspec
import nkeys

from controller.runtime import Kind
from shared.k8s.meta import ObjectMeta

SECRET_NAME: Final = "nats-users"  # noqa: S105
NATS_USERS: Final = ("admin", "activator", "callout", "result-store", "runtime-api")
CALLOUT_SEED: Final = "callout-seed"
CALLOUT_ISSUER: Final = "callout-issuer"
WORKER_KEY: Final = "worker-key"
SECRET_BYTES: Final = 32

RandomBytes = Callable[[int], bytes]


class NATSUsersSecret(msgspec.Struct, frozen=True, kw_only=True):
    """A Secret as Kubernetes returns it; values are base64."""

    metadata: ObjectMeta
    data: dict[str, str] = {}


SECRETS: Final = Kind("", "v1", "secrets", "Secret", NATSUsersSecret)


def missing_values(data: Mapping[str, str], random_bytes: RandomBytes) -> dict[str, str]:
    """Return new base64 values for the keys that `data` lacks; existing ones are kept."""
    missing = {user: generate_password(random_bytes) for user in NATS_USERS if user not in data}
    if WORKER_KEY not in data:
        missing[WORKER_KEY] = b64encode(random_bytes(SECRET_BYTES))
    if CALLOUT_SEED not in data:
        missing[CALLOUT_SEED] = generate_account_seed(random_bytes)
    encoded = {key: b64encode(value).decode() for key, value in missing.items()}
    return {**encoded, **missing_issuer({**data, **encoded}, data)}


def generate_password(random_bytes: RandomBytes) -> bytes:
    """Return a password that starts with a letter: nats.conf would read digits as a number."""
    return b"p" + random_bytes(SECRET_BYTES).hex().encode()


def generate_account_seed(random_bytes: RandomBytes) -> bytes:
    """Return the seed of the account that signs the tokens of workers."""
    return bytes(nkeys.encode_seed(random_bytes(SECRET_BYTES), nkeys.PREFIX_BYTE_ACCOUNT))


def missing_issuer(data: Mapping[str, str], stored_data: Mapping[str, str]) -> dict[str, str]:
    """Return the public key of the seed, unless the Secret contains it."""
    pair = nkeys.from_seed(bytearray(b64decode(data[CALLOUT_SEED])))
    issuer = b64encode(pair.public_key).decode()
    return {} if stored_data.get(CALLOUT_ISSUER) == issuer else {CALLOUT_ISSUER: issuer}
