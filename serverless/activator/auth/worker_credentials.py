"""Who the workers of a function are at the queue: derived from one key, stored nowhere else."""

import base64
import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

from shared.v1alpha1.function import Function

USER_PREFIX: Final = "worker."


@dataclass(frozen=True, slots=True)
class WorkerUser:
    """The workers of one function, of that uid and no other of its name."""

    function_name: str
    function_uid: str

    @property
    def name(self) -> str:
        """The user name at the queue."""
        return f"{USER_PREFIX}{self.function_name}.{self.function_uid}"

    @property
    def inbox_prefix(self) -> str:
        """Where answers come to; no other function's workers may listen there."""
        return f"_INBOX_{self.function_name}_{self.function_uid}"

    def password(self, worker_key: bytes) -> str:
        """The password that `key` gives to them."""
        text = f"{self.function_name}.{self.function_uid}".encode()
        digest = hmac.new(worker_key, text, hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).decode()

    def is_valid_password(self, password: str, worker_key: bytes) -> bool:
        """Whether that is their password; it takes as long to say no as to say yes."""
        return hmac.compare_digest(password.encode(), self.password(worker_key).encode())


def parse_worker_user(name: str) -> WorkerUser | None:
    """The workers that a user name is of; None where it is nobody's."""
    request_id, _, function_uid = name.removeprefix(USER_PREFIX).partition(".")
    is_one = name.startswith(USER_PREFIX) and request_id and function_uid
    return WorkerUser(request_id, function_uid) if is_one else None


def worker_user_of(function: Function) -> WorkerUser:
    """The workers of a function."""
    return WorkerUser(function.metadata.name, function.metadata.uid)
