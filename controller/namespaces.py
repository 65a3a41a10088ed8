"""The namespaces that the controller works in."""

from dataclasses import dataclass

from controller.runtime import ObjectKey


@dataclass(frozen=True, slots=True)
class Namespaces:
    """Reservations, users' units and records each have one; no other namespace is watched."""

    stock: str
    instance: str
    system: str

    @property
    def units(self) -> tuple[str, str]:
        """Where units are."""
        return self.stock, self.instance

    def is_stock(self, key: ObjectKey) -> bool:
        """Whether the unit of `key` is a reservation."""
        return key.namespace == self.stock
