"""Where things are on the model."""

from typing import Final

STOCK: Final = "runtime-stock"
INSTANCE: Final = "runtime-instance"
SYSTEM: Final = "runtime-system"
