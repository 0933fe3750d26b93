"""Send all metrics to a collector, again and again: each time replaces the one before."""

from collections.abc import Sequence

import anyio
import orjson

from orchestrator.errors import JournalError
from orchestrator.telemetry.collector_trouble import CollectorTrouble
from orchestrator.telemetry.exporter_parts import ExporterParts
from orchestrator.telemetry.metric_families import Readings
from orchestrator.telemetry.otlp_client import OtlpClient
from orchestrator.telemetry.otlp_json import SCOPE, OtlpObject
from orchestrator.telemetry.otlp_metrics import metric


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
        """Send the metrics of each period, until canceled."""
        while True:
            wait = await self._send()
            await anyio.sleep(max(self._period, wait))

    async def _send(self) -> float:
        """Return the seconds for which the collector wants nothing."""
        now = self._parts.clock()
        try:
            readings = await self._parts.readings()
        except JournalError as error:
            return self.trouble.failed(str(error))
        body = await self._parts.in_thread(self._body, readings, now)
        posted = await self._client.post(body, now / 1000)
        if posted.outcome != "taken":
            return self.trouble.failed(posted.problem, posted.wait)
        if posted.rejected:
            return self.trouble.failed(f"{posted.rejected} rejected, {posted.problem}")
        self.trouble.worked()
        return 0.0

    def _body(self, readings: Sequence[Readings], now: int) -> bytes:
        made = [metric(one, self._parts.started, now) for one in readings if one.series]
        scoped = {"scope": SCOPE, "metrics": made}
        sent = {"resourceMetrics": [{"resource": self._resource, "scopeMetrics": [scoped]}]}
        return self._client.packed(orjson.dumps(sent))
