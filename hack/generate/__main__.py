"""Write the generated files; with --check, only list those that are not current."""

import difflib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from hack.cluster.atomic_files import write_atomic
from hack.generate import crd, dashboard, documents, rbac

ROOT = Path(__file__).resolve().parent.parent.parent
GENERATED_FILES: Mapping[str, Callable[[], str]] = {
    "docs/configuration.md": documents.configuration_markdown,
    "docs/openapi.json": documents.openapi_json,
    **crd.GENERATED_FILES,
    "manifests/rbac/activator.yaml": rbac.activator_manifest,
    "manifests/monitoring/dashboard.json": dashboard.dashboard_json,
    "manifests/rbac/controller.yaml": rbac.controller_manifest,
    "manifests/rbac/credentials.yaml": rbac.credentials_manifest,
    "manifests/rbac/runtime-api.yaml": rbac.runtime_api_manifest,
}


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    stale = [name for name, text in GENERATED_FILES.items() if current_content(name) != text()]
    for name in stale:
        if arguments:
            print(diff_of(name), file=sys.stderr)
        else:
            write_atomic(ROOT / name, GENERATED_FILES[name]())
            print(f"wrote {name}")
    if stale and arguments:
        print(f"not current: {', '.join(stale)}; run: make generate", file=sys.stderr)
        return 1
    return 0


def current_content(name: str) -> str:
    path = ROOT / name
    return path.read_text() if path.exists() else ""


def diff_of(name: str) -> str:
    before, after = current_content(name).splitlines(), GENERATED_FILES[name]().splitlines()
    return "\n".join(difflib.unified_diff(before, after, name, "generated", lineterm="", n=1))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
