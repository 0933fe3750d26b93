"""Send all metrics to a collector periodically; each report replaces the last one."""

from collections.abc import Sequence

import anyio
import orjson

from orchestrator.errors import JournalError
from orchestrator.extensions.telemetry.collector_trouble import CollectorTrouble
from orchestrator.extensions.telemetry.exporter_parts import ExporterParts
from orchestrator.extensions.telemetry.metric_families import Readings
from orchestrator.extensions.telemetry.otlp_client import OtlpClient
from orchestrator.extensions.telemetry.otlp_json import SCOPE, OtlpObject
from orchestrator.extensions.telemetry.otlp_metrics import build_metric


class MetricExporter:
    """Sends metrics every ``period`` seconds while `run` runs."""

    def __init__(
        self,
        parts: ExporterParts,
        client: OtlpClient,
        resource: OtlpObject,
        trouble: CollectorTrouble,
        period: float,
    ) -> None:
        self._parts, self._client, self._resource = parts, client, resource
        self._period = period
        self.trouble = trouble

    async def run(self) -> None:
        """Send the metrics of each period, until cancelled."""
        while True:
            wait = await self._send_metrics()
            await anyio.sleep(max(self._period, wait))

    async def _send_metrics(self) -> float:
        """Send the metrics; return the seconds for which the collector asks to wait."""
        now = self._parts.clock()
        try:
            readings = await self._parts.readings()
        except JournalError as error:
            return self.trouble.record_failure(str(error))
        body = await self._parts.in_thread(self._encode_metrics, readings, now)
        posted = await self._client.post_body(body, now / 1000)
        if posted.outcome != "taken":
            return self.trouble.record_failure(posted.problem, posted.wait)
        if posted.rejected:
            return self.trouble.record_failure(f"{posted.rejected} rejected, {posted.problem}")
        self.trouble.record_success()
        return 0.0

    def _encode_metrics(self, readings: Sequence[Readings], now: int) -> bytes:
        made = [build_metric(one, self._parts.started, now) for one in readings if one.series]
        scoped = {"scope": SCOPE, "metrics": made}
        sent = {"resourceMetrics": [{"resource": self._resource, "scopeMetrics": [scoped]}]}
        return self._client.pack_body(orjson.dumps(sent))
