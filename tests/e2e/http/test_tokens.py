"""An API that requires tokens, and the activator that calls it with one."""

from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from serverless.activator.workers.runtime_api import CreateResponse, Pending, RuntimeAPIClient
from serverless.activator.workers.worker_spec import WorkerSpec
from tests.e2e.http.api_process import APIProcess, run_api_process
from tests.support.http.browser import CHROMIUM, SKIP_REASON, open_browser
from tests.support.wait.eventually import eventually

OLD, NEW = "the-old-token-of-a-tenant", "the-new-token-of-a-tenant"
OPERATORS = "the-token-of-an-operator"
ROUTE = "/api/v1/gpu-units"
AUTHORIZED = 503  # the status after authorization, because Kubernetes is off


@pytest.fixture(name="tokens")
def _tokens(tmp_path: Path) -> Path:
    return tmp_path / "tokens"


@pytest.fixture(name="api")
def _api(tokens: Path, tmp_path: Path) -> Iterator[APIProcess]:
    tokens.write_text(f"tenant-control-plane {OLD}\noperator {OPERATORS}\n")
    (tmp_path / "api.yaml").write_text(f"auth: {{tokensFile: {tokens}}}\nkubeMode: off")
    with run_api_process("--config", str(tmp_path / "api.yaml")) as api:
        yield api


async def test_a_new_token_is_accepted_without_a_restart(api: APIProcess, tokens: Path) -> None:
    async def status(token: str) -> int:
        return api.get(ROUTE, Authorization=f"Bearer {token}").status

    assert [await status(token) for token in (OLD, NEW)] == [AUTHORIZED, 401]
    tokens.write_text(f"tenant-control-plane {NEW}\n")  # noqa: ASYNC240 - a few bytes
    await eventually(lambda: status(NEW), lambda code: code == AUTHORIZED)
    assert await status(OLD) == 401


def pending_reason(response: CreateResponse) -> str:
    """Return the reason why a worker is not created; the operation's state is unknown."""
    assert isinstance(response, Pending)
    return response.reason


async def test_the_activator_sends_the_current_token_of_its_file(
    api: APIProcess, tmp_path: Path
) -> None:
    token_file, spec = tmp_path / "activators", WorkerSpec("w", "fn/uid/1", {})
    async with aiohttp.ClientSession() as session:
        units = RuntimeAPIClient(
            session, f"http://127.0.0.1:{api.port}", token_file=str(token_file)
        )
        absent = await units.create(spec)
        token_file.write_text(f"{NEW}\n")
        unknown = await units.create(spec)
        token_file.write_text(f"{OLD}\n")
        known = await units.create(spec)

    assert pending_reason(absent).startswith("runtimeApiTokenFile: ")
    assert pending_reason(unknown).startswith("a valid token is required")
    assert "kubeMode: off" in pending_reason(known)


@pytest.mark.skipif(CHROMIUM is None, reason=SKIP_REASON)
async def test_a_browser_gets_the_page_and_its_events_with_a_token_as_the_password(
    api: APIProcess, tmp_path: Path
) -> None:
    async with open_browser(tmp_path / "browser") as page:
        await page.open(f"http://me:{OPERATORS}@127.0.0.1:{api.port}/ui")
        await page.wait_for("document.body?.innerText.includes('kubeMode: off')")
        assert page.errors == []
