"""What is sent to a collector with certain settings; this loads the HTTP client."""

from orchestrator.telemetry.collector_trouble import CollectorTrouble
from orchestrator.telemetry.exporter_parts import ExporterParts
from orchestrator.telemetry.metric_exporter import MetricExporter
from orchestrator.telemetry.otlp_client import OtlpClient
from orchestrator.telemetry.otlp_json import resource
from orchestrator.telemetry.otlp_settings import OtlpSettings, pairs
from orchestrator.telemetry.span_batch import BatchReader
from orchestrator.telemetry.span_exporter import SpanExporter
from thinker.http.exchange import Network
from thinker.http.web_client import WebClient

TRACES_KEPT = "It gets them later, as long as the journal keeps the turns"
METRICS_MISSED = "The values of that time are missing"


def exporters(
    settings: OtlpSettings, parts: ExporterParts, network: Network
) -> list[SpanExporter | MetricExporter]:
    """Return an exporter for each signal that has an address."""
    about = resource(settings.service_name, pairs(settings.resource))
    found: list[SpanExporter | MetricExporter] = []
    if settings.traces is not None:
        client = _client(settings.traces, settings, network)
        trouble = CollectorTrouble(client.server, "traces", TRACES_KEPT, parts.jitter)
        reader = BatchReader(parts.store.address, about, client.packed)
        found.append(SpanExporter(parts, client, reader, trouble, settings.delay / 1000))
    if settings.metrics is not None:
        client = _client(settings.metrics, settings, network)
        trouble = CollectorTrouble(client.server, "metrics", METRICS_MISSED, parts.jitter)
        found.append(MetricExporter(parts, client, about, trouble, settings.interval / 1000))
    return found


def web_client(settings: OtlpSettings) -> WebClient:
    return WebClient(read=settings.timeout / 1000)


def _client(url: str, settings: OtlpSettings, network: Network) -> OtlpClient:
    timeout, compressed = settings.timeout / 1000, settings.compression == "gzip"
    return OtlpClient(url, settings.header_values, timeout, compressed, network)
