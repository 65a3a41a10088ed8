"""The default namespaces, which the shipped roles name."""

from typing import Final

STOCK_NAMESPACE: Final = "runtime-stock"
INSTANCE_NAMESPACE: Final = "runtime-instance"
SYSTEM_NAMESPACE: Final = "runtime-system"
