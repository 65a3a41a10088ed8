"""Validation of the workload and of the access of a unit."""

from collections.abc import Iterator, Sequence

from shared.k8s import name_syntax
from shared.k8s.name_syntax import (
    is_dns_subdomain,
    is_env_name,
    is_port_name,
    is_secret_key,
    is_url_scheme,
)
from shared.v1alpha1.gpuunit import GPUUnitSpec
from shared.v1alpha1.template import EnvVar, Port, SecretKeyRef, WorkloadTemplate
from shared.v1alpha1.validation.problem import Problem, repeated_positions, truncate


def workload_problems(spec: GPUUnitSpec) -> list[Problem]:
    """Return all problems with the workload."""
    template = spec.template or WorkloadTemplate()
    return [
        *_image_problems(spec.image),
        *_pull_secret_problems(spec.image_pull_secrets),
        *_env_problems(template.envs),
        *_port_problems(template.ports),
    ]


def access_problems(spec: GPUUnitSpec) -> list[Problem]:
    """Return all problems with the access to the unit."""
    if spec.access is None:
        return []
    problems = []
    names = [] if spec.template is None else [port.name for port in spec.template.ports]
    primary_port = spec.access.primary_port
    if not names:
        problems.append(Problem("spec.access", None, "needs a port in spec.template.ports"))
    elif primary_port and primary_port not in names:
        listed = truncate(", ".join(map(repr, names)))
        message = f"is not a port of the unit; its ports are {listed}"
        problems.append(Problem("spec.access.primaryPort", primary_port, message))
    if not is_url_scheme(spec.access.scheme):
        message = f"is not a URL scheme: {name_syntax.URL_SCHEME_SYNTAX}"
        problems.append(Problem("spec.access.scheme", spec.access.scheme, message))
    return problems


def _image_problems(image: str) -> Iterator[Problem]:
    if not image:
        yield Problem("spec.image", None, "is required")
    elif not image.isprintable() or any(map(str.isspace, image)):
        message = "is not an image: it contains spaces or unprintable characters"
        yield Problem("spec.image", image, message)


def _pull_secret_problems(names: Sequence[str]) -> Iterator[Problem]:
    for position, name in enumerate(names):
        if not is_dns_subdomain(name):
            message = f"is not the name of a Secret: {name_syntax.DNS_SUBDOMAIN_SYNTAX}"
            yield Problem(f"spec.imagePullSecrets[{position}]", name, message)
    for position in repeated_positions(names):
        yield Problem(f"spec.imagePullSecrets[{position}]", names[position], "is listed twice")


def _env_problems(variables: Sequence[EnvVar]) -> Iterator[Problem]:
    for position, variable in enumerate(variables):
        path = f"spec.template.envs[{position}]"
        if not is_env_name(variable.name):
            shown = variable.name.partition("=")[0]  # the following value may be a secret
            yield Problem(f"{path}.name", shown, f"is not a name: {name_syntax.ENV_NAME_SYNTAX}")
        if variable.value_from is not None:
            if variable.value:
                yield Problem(path, None, "has both value and valueFrom")
            yield from _secret_key_problems(f"{path}.valueFrom", variable.value_from.secret_key_ref)
    for position in repeated_positions(variable.name for variable in variables):
        shown = variables[position].name.partition("=")[0]
        yield Problem(f"spec.template.envs[{position}].name", shown, "is listed twice")


def _secret_key_problems(path: str, reference: SecretKeyRef) -> Iterator[Problem]:
    if not is_dns_subdomain(reference.name):
        message = f"is not the name of a Secret: {name_syntax.DNS_SUBDOMAIN_SYNTAX}"
        yield Problem(f"{path}.secretKeyRef.name", reference.name, message)
    if not is_secret_key(reference.key):
        message = f"is not a key of a Secret: {name_syntax.SECRET_KEY_SYNTAX}"
        yield Problem(f"{path}.secretKeyRef.key", reference.key, message)


def _port_problems(ports: Sequence[Port]) -> Iterator[Problem]:
    for position, port in enumerate(ports):
        if not is_port_name(port.name):
            message = f"is not the name of a port: {name_syntax.PORT_NAME_SYNTAX}"
            yield Problem(f"spec.template.ports[{position}].name", port.name, message)
    for position in repeated_positions(port.name for port in ports):
        name = ports[position].name
        yield Problem(f"spec.template.ports[{position}].name", name, "is listed twice")
    for position in repeated_positions((port.port, port.protocol) for port in ports):
        shown = f"{ports[position].port}/{ports[position].protocol}"
        yield Problem(f"spec.template.ports[{position}].port", shown, "is listed twice")
