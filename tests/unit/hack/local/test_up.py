"""Tests of `.local/env`, which shells and scripts read."""

import subprocess
from pathlib import Path

from hack.local.up import render_env_file


def test_a_shell_gets_every_value_unchanged_and_exported(tmp_path: Path) -> None:
    values = {"KUBECONFIG": "/a user's/$HOME folder", "BASE_URL": "http://127.0.0.1:8080"}
    path = tmp_path / "env"
    path.write_text(render_env_file(values))
    script = f'. \'{path}\'; sh -c \'printf "%s|%s" "$KUBECONFIG" "$BASE_URL"\''
    result = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout == "/a user's/$HOME folder|http://127.0.0.1:8080"
