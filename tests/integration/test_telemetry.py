"""Metrics and traces of a real daemon: for Prometheus, and for a collector that fails meanwhile."""

from http import HTTPStatus
from pathlib import Path

import httpx
import pytest
from fakes.api_client import Endpoints, endpoints
from fakes.daemon import RunningDaemon, running_daemon
from fakes.held_model import HeldModel, agent
from fakes.otlp_collector import OtlpCollector, Told
from prometheus_client.parser import text_string_to_metric_families

from orchestrator.control import protocol
from orchestrator.control.protocol import Ack, ChatSend
from orchestrator.extensions.telemetry import metric_catalog
from orchestrator.extensions.telemetry.metric_families import Family
from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="operations")]
CANARY = "zebra-canary"  # in the messages


async def scraped(api: Endpoints, **headers: str) -> httpx.Response:
    """What Prometheus gets, with the token unless another one is given."""
    headers = {"authorization": f"Bearer {api.client.api_key}", **headers}
    top = str(api.client.base_url).removesuffix("/v1/")
    async with httpx.AsyncClient() as prometheus:
        return await prometheus.get(f"{top}/metrics", headers=headers)


async def test_prometheus_reads_what_the_daemon_did(tmp_path: Path) -> None:
    """With the token of the endpoints; what it did before a scrape is counted once."""
    async with HeldModel() as model, endpoints(tmp_path, model) as api:
        assert (await scraped(api, authorization="Bearer orc_wrong")).status_code == 401
        await api.whole(CANARY)
        first, second = await scraped(api), await scraped(api)
    assert first.status_code == HTTPStatus.OK
    assert first.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    for answer in (first, second):
        found = {
            (sample.name, *sample.labels.values()): sample.value
            for family in text_string_to_metric_families(answer.text)
            for sample in family.samples
        }
        assert found["orchestrator_messages_total", "api", "request", "answered"] == 1
        assert found["orchestrator_turns_total", "work", "done"] == 1
        assert found["orchestrator_channel_up", "api"] == 1
        assert found["orchestrator_open_turns", "running"] == 0
        assert found[("orchestrator_process_resident_memory_bytes",)] > 1_000_000
        assert CANARY not in answer.text
    names = {family.name for family in text_string_to_metric_families(first.text)}
    every = [one.name for one in vars(metric_catalog).values() if isinstance(one, Family)]
    assert names == set(every)


async def said(daemon: RunningDaemon, message: str) -> None:
    """A message of the console."""
    sent = ChatSend(chat="one", message=message, text=f"{CANARY} {message}", agent="work")
    await daemon.ask(protocol.CHAT_SEND, sent, Ack)


async def test_collector_gets_every_turn_across_a_restart(tmp_path: Path) -> None:
    """It is away while turns end, and while the daemon ends; each span arrives once."""
    collector = OtlpCollector()
    async with HeldModel() as model, collector:
        config: JsonObject = {"agents": [agent("work", model)]}
        env = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
            "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20secret-canary",
            "OTEL_BSP_SCHEDULE_DELAY": "20",
            "OTEL_METRIC_EXPORT_INTERVAL": "1000",
            "OTEL_SERVICE_NAME": "bots",
        }
        collector.dead = True
        async with running_daemon(tmp_path, config, env=env) as daemon:
            await daemon.logged("collector_failed", signal="metrics")
            await said(daemon, "m1")
            await daemon.logged("collector_failed", signal="traces")
        collector.dead = False
        collector.script.append(Told(503, b"busy", {"retry-after": "0"}))
        async with running_daemon(tmp_path, config, env=env) as daemon:
            await said(daemon, "m2")
            turn = str((await daemon.logged("turn_replied"))["turn_id"])
            await collector.until(
                lambda: any(span.trace_id.hex() == turn for span in collector.spans)
            )
            await collector.until(lambda: bool(collector.metrics))
            assert "secret-canary" not in str(daemon.log)
    roots = [span for span in collector.spans if not span.parent_span_id]
    assert [span.name for span in roots] == ["invoke_agent work"] * 2
    assert len(collector.ids()) == len(set(collector.ids()))
    assert collector.resources[0]["service.name"] == "bots"
    assert {head["authorization"] for head in collector.heads} == {"Bearer secret-canary"}
    assert CANARY not in str(collector.spans)


async def test_wrong_setting_is_told_and_a_right_one_is_live(tmp_path: Path) -> None:
    """The daemon runs all the same; keys.env may have the settings."""
    collector, keys = OtlpCollector(), tmp_path / "keys.env"
    keys.touch(0o600)
    keys.write_text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=collector:4318\n", "utf-8")
    async with HeldModel() as model, collector:
        config: JsonObject = {"agents": [agent("work", model)]}
        env = {"OTEL_BSP_SCHEDULE_DELAY": "20", "OTEL_EXPORTER_OTLP_INSECURE": "true"}
        async with running_daemon(tmp_path, config, env=env) as daemon:
            report = await daemon.until(lambda found: len(found.notes) > 1)
            assert report.ready
            unread, wrong = report.notes
            assert unread.startswith("OTEL_EXPORTER_OTLP_INSECURE has no effect here")
            assert wrong == (
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: must be an address, such as"
                " http://127.0.0.1:4318; nothing is sent to a collector until that is corrected"
            )
            assert set(report.notes) <= set(report.hints)
            keys.write_text(f"OTEL_EXPORTER_OTLP_ENDPOINT={collector.url}\n", "utf-8")
            await daemon.until(lambda found: len(found.notes) == 1)
            await collector.until(lambda: bool(collector.metrics))
            await said(daemon, "m1")
            await collector.until(lambda: bool(collector.spans))
