"""An import contract by the role of a module; an unlisted module has a role too."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import grimp
from importlinter import Contract, ContractCheck, fields, output


class Role(Enum):
    """The purpose of a module in its package."""

    COMPOSITION = "composition"
    HTTP = "HTTP"
    ADAPTER = "adapter"
    SERVICE = "service"


FORBIDDEN_ROLES: Final = {
    Role.COMPOSITION: frozenset[Role](),
    Role.HTTP: frozenset({Role.COMPOSITION, Role.ADAPTER}),
    Role.ADAPTER: frozenset({Role.COMPOSITION, Role.HTTP}),
    Role.SERVICE: frozenset({Role.COMPOSITION, Role.HTTP, Role.ADAPTER}),
}
# The roles whose libraries a module may import; every module may import unlisted libraries.
LIBRARY_ROLES: Final = {
    Role.COMPOSITION: frozenset({Role.HTTP, Role.ADAPTER}),
    Role.HTTP: frozenset({Role.HTTP}),
    Role.ADAPTER: frozenset({Role.HTTP, Role.ADAPTER}),
    Role.SERVICE: frozenset[Role](),
}


@dataclass(frozen=True, slots=True)
class RoleNames:
    """The role of each module of a package; names are relative to the package.

    `http_modules` are the names that modules of HTTP have in every folder.
    """

    package: str
    composition: frozenset[str]
    http: frozenset[str]
    http_modules: frozenset[str]
    adapters: frozenset[str]
    ports: frozenset[str]

    def role(self, module: str) -> Role | None:
        """Return the role of a module; None outside the package."""
        if module != self.package and not module.startswith(f"{self.package}."):
            return None
        name = module.removeprefix(self.package).removeprefix(".")
        top, _, leaf = name.partition(".")
        if top in self.composition:
            return Role.COMPOSITION
        if top in self.http:
            return Role.HTTP
        if top in self.adapters:
            return Role.SERVICE if name in self.ports or not leaf else Role.ADAPTER
        return Role.HTTP if leaf in self.http_modules else Role.SERVICE


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """An import that the roles of its modules do not allow."""

    importer: str
    imported: str
    reason: str


class ModuleRolesContract(Contract):
    """An import contract by the roles of modules; a module without another role is a service.

    A service imports services and ports only. HTTP modules import those and each other. Adapters
    import services and each other. The composition imports everything.
    """

    type_name = "module_roles"

    package = fields.StringField()
    composition = fields.ListField(subfield=fields.StringField())
    http = fields.ListField(subfield=fields.StringField())
    http_modules = fields.ListField(subfield=fields.StringField())
    http_libraries = fields.ListField(subfield=fields.StringField())
    adapters = fields.ListField(subfield=fields.StringField())
    adapter_libraries = fields.ListField(subfield=fields.StringField())
    ports = fields.ListField(subfield=fields.StringField())

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:
        """Check all imports of the package."""
        names = RoleNames(
            str(self.package),
            frozenset(texts(self.composition)),
            frozenset(texts(self.http)),
            frozenset(texts(self.http_modules)),
            frozenset(texts(self.adapters)),
            frozenset(texts(self.ports)),
        )
        libraries = dict.fromkeys(texts(self.http_libraries), Role.HTTP)
        libraries |= dict.fromkeys(texts(self.adapter_libraries), Role.ADAPTER)
        require_known_modules(graph, names)
        violations = sorted(find_violations(graph, names, libraries))
        return ContractCheck(kept=not violations, metadata={"violations": violations})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print each import that breaks the contract."""
        for violation in check.metadata["violations"]:
            output.print_error(
                f"{violation.importer} -> {violation.imported}: {violation.reason}", bold=False
            )


def texts(option: object) -> Sequence[str]:
    """Return the values of an option that is a list."""
    return [str(value) for value in option] if isinstance(option, list) else []


def require_known_modules(graph: grimp.ImportGraph, names: RoleNames) -> None:
    """Raise ValueError for a name without a module, because its role would not be checked."""
    listed = names.composition | names.http | names.adapters | names.ports
    unknown = sorted(name for name in listed if f"{names.package}.{name}" not in graph.modules)
    if unknown:
        raise ValueError(f"unknown modules in {names.package}: {', '.join(unknown)}")


def find_violations(
    graph: grimp.ImportGraph, names: RoleNames, libraries: dict[str, Role]
) -> Iterator[Violation]:
    """Yield the imports of the package that break the contract."""
    for importer in graph.modules:
        role = names.role(importer)
        if role is None:
            continue
        for imported in graph.find_modules_directly_imported_by(importer):
            reason = refusal(role, imported, names, libraries)
            if reason is not None:
                yield Violation(importer, imported, reason)


def refusal(role: Role, imported: str, names: RoleNames, libraries: dict[str, Role]) -> str | None:
    """Return why a module of the role may not import another; None if it may."""
    owner = names.role(imported)
    if owner is not None:
        is_refused = owner in FORBIDDEN_ROLES[role]
        return f"{role.value} modules may not import {owner.value} modules" if is_refused else None
    owner = libraries.get(imported)
    if owner is None or owner in LIBRARY_ROLES[role]:
        return None
    return f"{role.value} modules may not import the libraries of {owner.value} modules"
