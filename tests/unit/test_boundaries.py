"""Tests of code rules that the import contracts and the linter cannot express."""

import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import controller.runtime
import shared.clock

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ["apiserver", "controller", "hack", "serverless", "shared", "tests"]
MAX_ARGUMENTS = 6
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "misc"}


def imported_packages(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name.split(".")[0] for alias in node.names)
            if isinstance(node, ast.ImportFrom) and node.module:
                yield node.module.split(".")[0]


def test_shared_imports_only_the_standard_library_and_msgspec() -> None:
    allowed = sys.stdlib_module_names | {"msgspec", "shared"}
    assert set(imported_packages(ROOT / "shared")) <= allowed


def test_the_controller_library_does_not_mention_gpus() -> None:
    texts = {path: path.read_text().lower() for path in (ROOT / "controller/runtime").rglob("*.py")}
    assert [path.name for path, text in texts.items() if "gpu" in text] == []


def test_the_clock_of_the_library_has_the_shape_of_the_shared_clock() -> None:
    library, programs = (
        {
            name: inspect.signature(each)
            for name, each in vars(clock).items()
            if not name.startswith("_")
        }
        for clock in (controller.runtime.Clock, shared.clock.Clock)
    )
    assert library == programs


@pytest.mark.parametrize("package", PACKAGES)
def test_no_file_has_a_vague_name(package: str) -> None:
    names = {path.stem for path in (ROOT / package).rglob("*.py")}
    assert names & VAGUE_NAMES == set()


def function_arguments(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the name and the number of arguments of every function except constructors.

    Counts as ruff's PLR0913 does: without self, cls, *args, **kwargs and unused arguments (_name).
    """
    methods = {
        id(item)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for item in node.body
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and not is_static(item)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name != "__init__":
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            counted = arguments[1:] if id(node) in methods else arguments
            yield node.name, sum(not argument.arg.startswith("_") for argument in counted)


def is_static(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = (item.id for item in function.decorator_list if isinstance(item, ast.Name))
    return "staticmethod" in names


@pytest.mark.parametrize("package", PACKAGES)
def test_only_constructors_take_more_than_six_arguments(package: str) -> None:
    paths = (ROOT / package).rglob("*.py")
    functions = (
        (path.name, name, count)
        for path in paths
        for name, count in function_arguments(ast.parse(path.read_text()))
    )
    assert [function for function in functions if function[2] > MAX_ARGUMENTS] == []


def test_the_arguments_of_a_function_are_counted_as_the_linter_counts_them() -> None:
    source = """
class Example:
    def __init__(self, a, b, c): ...
    def method(self, a, b, *, c): ...
    @classmethod
    def of_class(cls, a): ...
    @staticmethod
    def static(a, b): ...
def function(a, /, b, _unused, *args, c=1, **kwargs): ...
"""
    counted = dict(function_arguments(ast.parse(source)))
    assert counted == {"method": 3, "of_class": 1, "static": 2, "function": 3}
