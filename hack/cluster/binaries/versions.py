"""The pinned versions, read from the go.mod files so that they are written down once."""

import re
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"


def pinned(product: str, module: str) -> str:
    """The version of `module` that hack/tools/<product>/go.mod requires, such as v1.36.3."""
    text = (TOOLS / product / "go.mod").read_text()
    found = re.search(rf"^(?:require)?\s+{re.escape(module)} (v\S+)", text, re.MULTILINE)
    if found is None:
        raise LookupError(f"hack/tools/{product}/go.mod does not require {module}")
    return found[1]


def fits(found: str, wanted: str) -> bool:
    """Whether version `found` may stand in for the pinned one: same major and minor release."""
    return minor(found) is not None and minor(found) == minor(wanted)


def minor(version: str) -> tuple[int, int] | None:
    parts = re.match(r"v?(\d+)\.(\d+)\.", version)
    return (int(parts[1]), int(parts[2])) if parts else None
