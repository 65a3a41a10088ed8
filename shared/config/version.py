"""The version of the installed product."""

from importlib import metadata


def product_version() -> str:
    """Return the version of the installed distribution; 0.0.0 for a bare checkout."""
    try:
        return metadata.version("gpu-runtime")
    except metadata.PackageNotFoundError:
        return "0.0.0"
