"""Write the generated files; with --check, only tell which are not current."""

import difflib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from hack.cluster.atomic_files import write_whole
from hack.generate import configuration_doc, crd, dashboard, openapi, rbac

ROOT = Path(__file__).resolve().parent.parent.parent
FILES: Mapping[str, Callable[[], str]] = {
    "docs/configuration.md": configuration_doc.document,
    "docs/openapi.json": openapi.document,
    **crd.FILES,
    "manifests/rbac/activator.yaml": rbac.activator,
    "manifests/monitoring/dashboard.json": dashboard.document,
    "manifests/rbac/controller.yaml": rbac.controller,
    "manifests/rbac/credentials.yaml": rbac.credentials,
    "manifests/rbac/runtime-api.yaml": rbac.runtime_api,
}


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    stale = [name for name, make in FILES.items() if current(name) != make()]
    for name in stale:
        if arguments:
            print(difference(name), file=sys.stderr)
        else:
            write_whole(ROOT / name, FILES[name]())
            print(f"wrote {name}")
    if stale and arguments:
        print(f"not current: {', '.join(stale)}; run: make generate", file=sys.stderr)
        return 1
    return 0


def current(name: str) -> str:
    path = ROOT / name
    return path.read_text() if path.exists() else ""


def difference(name: str) -> str:
    before, after = current(name).splitlines(), FILES[name]().splitlines()
    return "\n".join(difflib.unified_diff(before, after, name, "generated", lineterm="", n=1))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
