"""`.local/env`: where everything is, for a shell (`. .local/env`) and for scripts."""

import shlex
from collections.abc import Mapping


def render_env_file(values: Mapping[str, str]) -> str:
    """One NAME=value a line, then an export, so that programs started from the shell see them."""
    lines = [f"{name}={shlex.quote(value)}" for name, value in values.items()]
    return "\n".join([*lines, f"export {' '.join(values)}", ""])
