"""The stream behind the operations page, over HTTP."""

import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from apiserver.dashboard.broadcaster import MOST_VIEWERS
from hack.cluster.control_plane import ControlPlane
from tests.support.cluster.isolated_installation import Site, a_unit
from tests.support.cluster.our_api import serving
from tests.support.cluster.product_processes import Running
from tests.support.faults.proxied_kubeconfig import kubeconfig_through
from tests.support.faults.tcp_proxy import TCPProxy
from tests.support.http.api_client import Caller
from tests.support.http.event_stream import FEED, Event, viewing
from tests.support.wait.eventually import eventually


@pytest.fixture
async def proxy(installed: ControlPlane) -> AsyncIterator[TCPProxy]:
    async with TCPProxy("127.0.0.1", installed.layout.ports["kube-apiserver"]).serving() as made:
        yield made


@pytest.fixture
async def api(site: Site, proxy: TCPProxy, tmp_path: Path) -> AsyncIterator[Running]:
    path = kubeconfig_through(proxy, site, tmp_path)
    async with serving(site, tmp_path, kubeconfig=str(path), requestTimeout="2s") as product:
        yield product


async def test_a_viewer_sees_changes_an_outage_and_the_end(
    api: Running, site: Site, proxy: TCPProxy
) -> None:
    async with viewing(api.url) as viewer:
        first = await viewer.view()
        assert first.data["units"]["states"] == {}
        assert viewer.response.headers["Content-Type"] == "text/event-stream"

        await site.create("gpuunits", a_unit("seen", image="example/app:1"))
        seen = await eventually(viewer.view, lambda view: names(view) == ["seen"])
        assert seen.mark != first.mark

        async with viewing(api.url, last=seen.mark) as returned:
            event = await returned.event()
            assert event is not None
            assert event.name == "beat"  # it has the view

        proxy.refuse()
        proxy.cut()
        told = await eventually(viewer.beat, lambda beat: "trouble" in beat)
        assert str(proxy.port) in told["trouble"]
        await eventually(viewer.beat, lambda beat: beat["ageSeconds"] > 2.0)  # requestTimeout
        proxy.heal()
        await eventually(viewer.beat, lambda beat: "trouble" not in beat)

        code = await api.process.end(signal.SIGTERM)
        while await viewer.event() is not None:
            pass
    assert code == 0


def names(view: Event) -> list[str]:
    return [row["name"] for row in view.data["units"]["listed"]["rows"]]


async def test_streams_are_bounded_and_leave_the_figures_of_requests_alone(api: Running) -> None:
    caller = Caller(api.url)
    async with AsyncExitStack() as viewers:
        for _ in range(MOST_VIEWERS):
            viewer = await viewers.enter_async_context(viewing(api.url))
            assert viewer.response.status == 200
        refused = await caller.get(FEED)
        figures = (await caller.text("/metrics")).splitlines()
    assert refused.refusal == (503, "service_unavailable")
    assert int(refused.headers["Retry-After"]) > 0
    assert "gpuruntime_http_in_flight 1.0" in figures
    answered = f'gpuruntime_http_requests_total{{method="GET",route="{FEED}",status="200"}}'
    assert f"{answered} {MOST_VIEWERS}.0" in figures
