"""The NATS users of workers, derived from one key and not stored elsewhere."""

import base64
import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

from shared.v1alpha1.function import Function

USER_PREFIX: Final = "worker."


@dataclass(frozen=True, slots=True)
class WorkerUser:
    """The workers of one function with one uid."""

    function_name: str
    function_uid: str

    @property
    def name(self) -> str:
        """The user name at NATS."""
        return f"{USER_PREFIX}{self.function_name}.{self.function_uid}"

    @property
    def inbox_prefix(self) -> str:
        """The prefix of reply subjects; workers of other functions cannot subscribe there."""
        return f"_INBOX_{self.function_name}_{self.function_uid}"

    def password(self, worker_key: bytes) -> str:
        """Return the password that follows from the key."""
        text = f"{self.function_name}.{self.function_uid}".encode()
        digest = hmac.new(worker_key, text, hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).decode()

    def is_valid_password(self, password: str, worker_key: bytes) -> bool:
        """Compare the password in constant time."""
        return hmac.compare_digest(password.encode(), self.password(worker_key).encode())


def parse_worker_user(name: str) -> WorkerUser | None:
    """Return the worker user of a user name; None if it is not one."""
    function_name, _, function_uid = name.removeprefix(USER_PREFIX).partition(".")
    is_worker = name.startswith(USER_PREFIX) and function_name and function_uid
    return WorkerUser(function_name, function_uid) if is_worker else None


def worker_user_of(function: Function) -> WorkerUser:
    """Return the worker user of a function."""
    return WorkerUser(function.metadata.name, function.metadata.uid)
