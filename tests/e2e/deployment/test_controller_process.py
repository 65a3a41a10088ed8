"""Start and end of a controller process."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hack.cluster.control_plane import ControlPlane
from hack.local import product_processes
from tests.support.cluster.product_processes import run_product_process
from tests.support.http.get import get

MAX_RUN_SECONDS = 60.0


def run_to_end(*flags: str) -> subprocess.CompletedProcess[str]:
    """Run a controller that is expected to exit by itself."""
    command = [sys.executable, "-W", "error", "-m", "controller", *flags]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=MAX_RUN_SECONDS, check=False
    )


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--nope"], "unrecognized arguments: --nope"),
        (["--probe-addr", "nowhere"], "--probe-addr: got 'nowhere', expected an address"),
        (["--metrics-addr", "1.2.3.4"], "--metrics-addr: got '1.2.3.4', expected an address"),
        (["--log-level", "loud"], "--log-level: got 'loud', expected one of debug, info"),
        (["--config", "/absent.yaml"], "/absent.yaml: file not found"),
        (["--kubeconfig", "/absent"], "kubeconfig: /absent: file not found"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_invalid_configuration_exits_with_2_and_the_reason(flags: list[str], message: str) -> None:
    result = run_to_end(*flags)
    assert result.returncode == 2
    assert message in result.stderr


def test_an_unknown_key_exits_with_2_and_its_name(tmp_path: Path) -> None:
    (tmp_path / "controller.yaml").write_text("probeAdr: ':1'")
    result = run_to_end("--config", str(tmp_path / "controller.yaml"))
    assert result.returncode == 2
    assert "probeAdr: unknown key; did you mean probeAddr?" in result.stderr


def test_a_port_in_use_exits_with_1_and_its_address(installed_control_plane: ControlPlane) -> None:
    kubeconfig = str(installed_control_plane.layout.kubeconfig("controller"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        result = run_to_end("--kubeconfig", kubeconfig, "--probe-addr", address)
    assert result.returncode == 1
    assert f"cannot listen on {address}" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops_the_controller_cleanly(
    installed_control_plane: ControlPlane, tmp_path: Path, number: signal.Signals
) -> None:
    kubeconfig = str(installed_control_plane.layout.kubeconfig("controller"))
    async with run_product_process(
        product_processes.CONTROLLER, tmp_path, {"kubeconfig": kubeconfig}
    ) as controller:
        assert await controller.process.signal_and_wait(number) == 0
    assert "event=stopped" in controller.process.log_tail()


async def test_probes_and_metrics_can_have_different_addresses(
    installed_control_plane: ControlPlane, tmp_path: Path
) -> None:
    changes = {
        "kubeconfig": str(installed_control_plane.layout.kubeconfig("controller")),
        "metricsAddr": "127.0.0.1:0",
    }
    async with run_product_process(product_processes.CONTROLLER, tmp_path, changes) as controller:
        assert (await get(f"{controller.url}/healthz"))[0] == 200
        assert (await get(f"{controller.url}/metrics"))[0] == 404
