"""The namespaces of the model."""

from typing import Final

STOCK_NAMESPACE: Final = "runtime-stock"
INSTANCE_NAMESPACE: Final = "runtime-instance"
SYSTEM_NAMESPACE: Final = "runtime-system"
