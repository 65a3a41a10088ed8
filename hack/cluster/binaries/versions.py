"""The pinned versions, read from the go.mod files."""

import re
from pathlib import Path

TOOLS_DIR = Path(__file__).resolve().parents[2] / "tools"


def pinned_version(product: str, module: str) -> str:
    """Return the version of `module` that hack/tools/<product>/go.mod requires, such as v1.36.3."""
    text = (TOOLS_DIR / product / "go.mod").read_text()
    match = re.search(rf"^(?:require)?\s+{re.escape(module)} (v\S+)", text, re.MULTILINE)
    if match is None:
        raise LookupError(f"hack/tools/{product}/go.mod does not require {module}")
    return match[1]


def is_compatible(version: str, pinned_version: str) -> bool:
    """Return whether `version` has the major and minor release of the pinned one."""
    return minor_release(version) is not None and minor_release(version) == minor_release(
        pinned_version
    )


def minor_release(version: str) -> tuple[int, int] | None:
    match = re.match(r"v?(\d+)\.(\d+)\.", version)
    return (int(match[1]), int(match[2])) if match else None
