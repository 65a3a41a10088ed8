"""The pinned versions, read from the go.mod files so that they are written down once."""

import re
from pathlib import Path

TOOLS_DIR = Path(__file__).resolve().parents[2] / "tools"


def pinned_version(product: str, module: str) -> str:
    """The version of `module` that hack/tools/<product>/go.mod requires, such as v1.36.3."""
    text = (TOOLS_DIR / product / "go.mod").read_text()
    found = re.search(rf"^(?:require)?\s+{re.escape(module)} (v\S+)", text, re.MULTILINE)
    if found is None:
        raise LookupError(f"hack/tools/{product}/go.mod does not require {module}")
    return found[1]


def is_compatible(version: str, pinned_version: str) -> bool:
    """Whether version `found` may stand in for the pinned one: same major and minor release."""
    return minor_release(version) is not None and minor_release(version) == minor_release(
        pinned_version
    )


def minor_release(version: str) -> tuple[int, int] | None:
    parts = re.match(r"v?(\d+)\.(\d+)\.", version)
    return (int(parts[1]), int(parts[2])) if parts else None
