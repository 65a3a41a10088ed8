"""Tests of the API's import contract: it also checks modules that it does not list."""

import grimp
import pytest

from hack.import_contracts import ModuleRolesContract, Violation

OPTIONS = {
    "package": "api",
    "composition": ["main"],
    "http": ["http"],
    "http_modules": ["handlers"],
    "http_libraries": ["aiohttp"],
    "adapters": ["kube"],
    "adapter_libraries": ["asyncpg"],
    "ports": ["kube.port"],
}


def check(*imports: tuple[str, str], **options: list[str]) -> list[Violation]:
    graph = grimp.ImportGraph()
    for module in ("api", "api.main", "api.http", "api.kube", "api.kube.port"):
        graph.add_module(module)
    for importer, imported in imports:
        graph.add_import(importer=importer, imported=imported)
    contract = ModuleRolesContract("roles", {}, {**OPTIONS, **options})
    result = contract.check(graph, verbose=False)
    violations: list[Violation] = result.metadata["violations"]
    assert result.kept is not bool(violations)
    return violations


@pytest.mark.parametrize(
    "imported",
    [
        "aiohttp",
        "asyncpg",
        "api.http.body",
        "api.kube.rest",
        "api.main",
        "api.units.handlers",
    ],
)
@pytest.mark.parametrize("importer", ["api.units.new_module", "api.new_module", "api.kube.port"])
def test_a_service_may_not_import_http_or_adapters(importer: str, imported: str) -> None:
    (violation,) = check((importer, imported))
    assert (violation.importer, violation.imported) == (importer, imported)


@pytest.mark.parametrize("imported", ["asyncpg", "api.kube.rest", "api.main"])
def test_handlers_may_not_import_an_adapter(imported: str) -> None:
    assert check(("api.units.handlers", imported))


@pytest.mark.parametrize("imported", ["api.http.body", "api.units.handlers", "api.main"])
def test_an_adapter_may_not_import_http_modules(imported: str) -> None:
    assert check(("api.kube.rest", imported))


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("api.units.service", "api.stock.service"),
        ("api.units.service", "api.kube.port"),
        ("api.units.service", "msgspec"),
        ("api.units.handlers", "api.units.service"),
        ("api.units.handlers", "api.http.body"),
        ("api.units.handlers", "aiohttp"),
        ("api.kube.rest", "aiohttp"),
        ("api.kube.rest", "asyncpg"),
        ("api.main", "api.kube.rest"),
        ("api.main", "api.units.handlers"),
        ("another", "aiohttp"),
    ],
)
def test_other_imports_are_allowed(importer: str, imported: str) -> None:
    assert check((importer, imported)) == []


def test_a_name_without_a_module_is_refused() -> None:
    with pytest.raises(ValueError, match=r"unknown modules in api: kube\.gone"):
        check(ports=["kube.gone"])
