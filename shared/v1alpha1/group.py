"""The API group and version of our custom resources."""

from typing import Final

GROUP: Final = "runtime.lokiwager.io"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
