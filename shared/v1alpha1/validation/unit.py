"""What a unit must say for its workload to run and to be reached."""

from collections.abc import Iterator, Sequence

from shared.k8s import name_syntax
from shared.k8s.name_syntax import is_env, is_port, is_scheme, is_secret_key, is_subdomain
from shared.v1alpha1.gpuunit import GPUUnitSpec
from shared.v1alpha1.template import EnvVar, Port, SecretKeyRef, Template
from shared.v1alpha1.validation.problem import Problem, cut, repeated


def workload_problems(spec: GPUUnitSpec) -> list[Problem]:
    """Everything that is wrong with what shall run."""
    template = spec.template or Template()
    return [
        *_image(spec.image),
        *_pull_secrets(spec.image_pull_secrets),
        *_envs(template.envs),
        *_ports(template.ports),
    ]


def access_problems(spec: GPUUnitSpec) -> list[Problem]:
    """Everything that is wrong with how the unit shall be reached."""
    if spec.access is None:
        return []
    problems = []
    names = [] if spec.template is None else [port.name for port in spec.template.ports]
    given = spec.access.primary_port
    if not names:
        problems.append(Problem("spec.access", None, "needs a port in spec.template.ports"))
    elif given and given not in names:
        message = f"is no port of the unit; there are {cut(', '.join(map(repr, names)))}"
        problems.append(Problem("spec.access.primaryPort", given, message))
    if not is_scheme(spec.access.scheme):
        message = f"is not a scheme: {name_syntax.SCHEME}"
        problems.append(Problem("spec.access.scheme", spec.access.scheme, message))
    return problems


def _image(image: str) -> Iterator[Problem]:
    if not image:
        yield Problem("spec.image", None, "is required")
    elif not image.isprintable() or any(map(str.isspace, image)):
        yield Problem("spec.image", image, "is no image: it has blanks or unprintable characters")


def _pull_secrets(names: Sequence[str]) -> Iterator[Problem]:
    for place, name in enumerate(names):
        if not is_subdomain(name):
            message = f"is not the name of a Secret: {name_syntax.SUBDOMAIN}"
            yield Problem(f"spec.imagePullSecrets[{place}]", name, message)
    for place in repeated(names):
        yield Problem(f"spec.imagePullSecrets[{place}]", names[place], "is given twice")


def _envs(variables: Sequence[EnvVar]) -> Iterator[Problem]:
    for place, variable in enumerate(variables):
        path = f"spec.template.envs[{place}]"
        if not is_env(variable.name):
            shown = variable.name.partition("=")[0]  # what follows may be a secret
            yield Problem(f"{path}.name", shown, f"is not a name: {name_syntax.ENV}")
        if variable.value_from is not None:
            if variable.value:
                yield Problem(path, None, "has both value and valueFrom")
            yield from _secret_key(f"{path}.valueFrom", variable.value_from.secret_key_ref)
    for place in repeated(variable.name for variable in variables):
        shown = variables[place].name.partition("=")[0]
        yield Problem(f"spec.template.envs[{place}].name", shown, "is given twice")


def _secret_key(path: str, given: SecretKeyRef) -> Iterator[Problem]:
    if not is_subdomain(given.name):
        message = f"is not the name of a Secret: {name_syntax.SUBDOMAIN}"
        yield Problem(f"{path}.secretKeyRef.name", given.name, message)
    if not is_secret_key(given.key):
        message = f"is not a key of a Secret: {name_syntax.DATA_KEY}"
        yield Problem(f"{path}.secretKeyRef.key", given.key, message)


def _ports(ports: Sequence[Port]) -> Iterator[Problem]:
    for place, port in enumerate(ports):
        if not is_port(port.name):
            message = f"is not the name of a port: {name_syntax.PORT}"
            yield Problem(f"spec.template.ports[{place}].name", port.name, message)
    for place in repeated(port.name for port in ports):
        yield Problem(f"spec.template.ports[{place}].name", ports[place].name, "is given twice")
    for place in repeated((port.port, port.protocol) for port in ports):
        shown = f"{ports[place].port}/{ports[place].protocol}"
        yield Problem(f"spec.template.ports[{place}].port", shown, "is given twice")
