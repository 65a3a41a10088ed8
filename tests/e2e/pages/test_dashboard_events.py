"""The event stream of the operations page, over HTTP."""

import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from apiserver.dashboard.broadcaster import MAX_VIEWERS
from hack.cluster.control_plane import ControlPlane
from tests.support.cluster.isolated_installation import IsolatedInstallation, unit_manifest
from tests.support.cluster.product_processes import ProductProcess
from tests.support.cluster.running_product import run_api
from tests.support.faults.tcp_proxy import TCPProxy, kubeconfig_through_proxy
from tests.support.http.api_client import ApiClient
from tests.support.http.event_stream import EVENTS_PATH, ServerSentEvent, open_event_stream
from tests.support.wait.eventually import eventually


@pytest.fixture
async def proxy(installed_control_plane: ControlPlane) -> AsyncIterator[TCPProxy]:
    async with TCPProxy(
        "127.0.0.1", installed_control_plane.layout.ports["kube-apiserver"]
    ).serve() as proxy:
        yield proxy


@pytest.fixture
async def api(
    installation: IsolatedInstallation, proxy: TCPProxy, tmp_path: Path
) -> AsyncIterator[ProductProcess]:
    path = kubeconfig_through_proxy(proxy, installation, tmp_path)
    async with run_api(
        installation, tmp_path, kubeconfig=str(path), requestTimeout="2s"
    ) as product:
        yield product


async def test_a_viewer_receives_changes_an_outage_and_the_end(
    api: ProductProcess, installation: IsolatedInstallation, proxy: TCPProxy
) -> None:
    async with open_event_stream(api.url) as viewer:
        first = await viewer.next_view()
        assert first.data["units"]["states"] == {}
        assert viewer.response.headers["Content-Type"] == "text/event-stream"

        await installation.create("gpuunits", unit_manifest("seen", image="example/app:1"))
        changed = await eventually(viewer.next_view, lambda view: unit_names(view) == ["seen"])
        assert changed.event_id != first.event_id

        async with open_event_stream(api.url, last_event_id=changed.event_id) as reconnected:
            event = await reconnected.next_event()
            assert event is not None
            assert event.name == "beat"  # the viewer has the snapshot

        proxy.refuse()
        proxy.cut()
        heartbeat = await eventually(viewer.next_heartbeat, lambda beat: "trouble" in beat)
        assert str(proxy.port) in heartbeat["trouble"]
        await eventually(
            viewer.next_heartbeat, lambda beat: beat["ageSeconds"] > 2.0
        )  # requestTimeout
        proxy.clear_faults()
        await eventually(viewer.next_heartbeat, lambda beat: "trouble" not in beat)

        code = await api.process.signal_and_wait(signal.SIGTERM)
        while await viewer.next_event() is not None:
            pass
    assert code == 0


def unit_names(view: ServerSentEvent) -> list[str]:
    return [row["name"] for row in view.data["units"]["listed"]["rows"]]


async def test_the_number_of_streams_is_limited_and_they_do_not_count_as_in_flight(
    api: ProductProcess,
) -> None:
    caller = ApiClient(api.url)
    async with AsyncExitStack() as viewers:
        for _ in range(MAX_VIEWERS):
            viewer = await viewers.enter_async_context(open_event_stream(api.url))
            assert viewer.response.status == 200
        refused = await caller.get(EVENTS_PATH)
        metrics = (await caller.text("/metrics")).splitlines()
    assert refused.status_and_code == (503, "service_unavailable")
    assert int(refused.headers["Retry-After"]) > 0
    assert "gpuruntime_http_in_flight 1.0" in metrics
    counter = f'gpuruntime_http_requests_total{{method="GET",route="{EVENTS_PATH}",status="200"}}'
    assert f"{counter} {MAX_VIEWERS}.0" in metrics
