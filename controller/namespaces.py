"""Namespaces of the controller."""

from dataclasses import dataclass

from controller.runtime import ObjectKey


@dataclass(frozen=True, slots=True)
class Namespaces:
    """Namespaces of stock, of users' units and of operations; the controller watches no others."""

    stock: str
    instance: str
    system: str

    @property
    def units(self) -> tuple[str, str]:
        """Return the two namespaces of units."""
        return self.stock, self.instance

    def is_stock(self, key: ObjectKey) -> bool:
        """Return whether the unit of `key` is stock."""
        return key.namespace == self.stock
