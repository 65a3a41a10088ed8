"""The start and the stop of an API process."""

import signal
import socket
from pathlib import Path

import pytest

from tests.e2e.http.api_process import run_api_process, run_to_end


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_cleanly(number: signal.Signals) -> None:
    with run_api_process("--kube-mode", "off") as api:
        log = api.stop(number)
        assert api.process.returncode == 0
    assert "event=stopped" in log


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--nope"], "unrecognized arguments: --nope"),
        (["--http-addr", "nowhere"], "--http-addr: got 'nowhere', expected an address"),
        (["--kube-mode", "maybe"], "--kube-mode: got 'maybe', expected one of auto, off, required"),
        (["--report-interval", "soon"], "--report-interval: got 'soon', expected a duration"),
        (["--log-level", "loud"], "--log-level: got 'loud', expected one of debug, info"),
        (["--config", "/absent.yaml"], "/absent.yaml: file not found"),
        (["--http-addr", ":0"], "httpAddr: other machines can call :0, and no token is required"),
        (["--kubeconfig", "/absent"], "kubeconfig: /absent: file not found"),
        (["--kubeconfig", "/absent", "--kube-mode", "auto"], "/absent: file not found"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_invalid_flag_ends_the_process_with_2_and_the_reason(
    flags: list[str], message: str
) -> None:
    process = run_to_end(*flags)
    assert process.returncode == 2
    assert message in process.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("httpAdr: ':1'", "httpAdr: unknown key; did you mean httpAddr?"),
        ("reportInterval: 0s", "reportInterval: got '0s', expected a duration above zero"),
        ("[", "invalid YAML"),
        ("auth: {tokensFile: /absent}", "auth.tokensFile: '/absent': cannot be read: No such file"),
        ("nats: {passwordFile: /absent}\nkubeMode: off", "nats.passwordFile: '/absent' cannot be"),
    ],
)
def test_an_invalid_config_file_ends_the_process_with_2_and_the_reason(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "api.yaml").write_text(text)
    process = run_to_end("--config", str(tmp_path / "api.yaml"))
    assert process.returncode == 2
    assert message in process.stderr


def test_a_missing_kubeconfig_is_ignored_with_kube_mode_off() -> None:
    with run_api_process("--kube-mode", "off", "--kubeconfig", "/absent") as api:
        assert api.get("/readyz").status == 200


def test_a_port_in_use_ends_the_process_with_1_and_the_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        process = run_to_end("--kube-mode", "off", "--http-addr", address)
    assert process.returncode == 1
    assert f"cannot listen on {address}" in process.stderr
    assert "--http-addr" in process.stderr


def write_kubeconfig(directory: Path, server: str) -> str:
    path = directory / "kubeconfig"
    path.write_text(
        "current-context: c\n"
        "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
        "users: [{name: u, user: {}}]\n"
        f"clusters: [{{name: k, cluster: {{server: '{server}'}}}}]\n"
    )
    return str(path)


def test_a_process_that_waits_for_its_cluster_is_alive_but_not_ready(
    tmp_path: Path,
) -> None:
    with run_api_process("--kubeconfig", write_kubeconfig(tmp_path, "http://127.0.0.1:1")) as api:
        assert api.get("/healthz").status == 200
        not_ready = api.get("/readyz")
        assert not_ready.status == 503
        (reason,) = not_ready.json["data"]["reasons"]
        assert "Kubernetes is not connected" in reason
        assert api.wait_logged("waiting_for_cluster")
        api.stop()
        assert api.process.returncode == 0


def test_kube_mode_auto_starts_without_a_cluster_and_reports_it_in_health(tmp_path: Path) -> None:
    config = write_kubeconfig(tmp_path, "http://127.0.0.1:1")
    with run_api_process("--kubeconfig", config, "--kube-mode", "auto") as api:
        health = api.get("/api/v1/health").json["data"]
        assert health["kubernetesConnected"] is False
        assert api.get("/readyz").status == 503


def test_health_responds_at_once_while_the_api_server_hangs(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        config = write_kubeconfig(tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}")
        with run_api_process("--kubeconfig", config, "--kube-mode", "auto") as api:
            assert api.get("/api/v1/health").json["data"]["kubernetesConnected"] is False


def test_a_request_gets_one_log_line_with_its_id_and_its_route() -> None:
    with run_api_process("--kube-mode", "off") as api:
        api.get("/api/v1/health", X_Request_ID="call-7")
        api.get("/healthz", X_Request_ID="probe-7")
        log = api.stop()
    (line,) = [line for line in log.splitlines() if "event=http_request" in line]
    for field in ("requestID=call-7", "method=GET", "route=/api/v1/health", "status=200"):
        assert f" {field} " in line


def test_the_status_is_logged_right_after_the_start() -> None:
    with run_api_process("--kube-mode", "off") as api:
        assert "kubernetesConnected=false" in api.wait_logged("runtime_status")
