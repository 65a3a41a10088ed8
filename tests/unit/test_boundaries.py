"""What the import contracts cannot say."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
NAMES_THAT_SAY_NOTHING = {"utils", "util", "helpers", "helper", "common", "base", "misc"}


def imported(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name.split(".")[0] for alias in node.names)
            if isinstance(node, ast.ImportFrom) and node.module:
                yield node.module.split(".")[0]


def test_shared_imports_the_standard_library_and_its_codec_only() -> None:
    allowed = sys.stdlib_module_names | {"msgspec", "shared"}
    assert set(imported(ROOT / "shared")) <= allowed


def test_the_controller_library_never_says_gpu() -> None:
    texts = {path: path.read_text().lower() for path in (ROOT / "controller/runtime").rglob("*.py")}
    assert [path.name for path, text in texts.items() if "gpu" in text] == []


@pytest.mark.parametrize(
    "package", ["apiserver", "controller", "hack", "serverless", "shared", "tests"]
)
def test_every_file_is_named_for_what_it_holds(package: str) -> None:
    names = {path.stem for path in (ROOT / package).rglob("*.py")}
    assert names & NAMES_THAT_SAY_NOTHING == set()
