"""The default namespaces, for which the shipped roles are."""

from typing import Final

STOCK_NAMESPACE: Final = "runtime-stock"
INSTANCE_NAMESPACE: Final = "runtime-instance"
SYSTEM_NAMESPACE: Final = "runtime-system"
