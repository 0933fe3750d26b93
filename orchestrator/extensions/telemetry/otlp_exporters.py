"""Build the exporters for given settings; this loads httpx."""

from orchestrator.extensions.telemetry.collector_trouble import CollectorTrouble
from orchestrator.extensions.telemetry.exporter_parts import ExporterParts
from orchestrator.extensions.telemetry.metric_exporter import MetricExporter
from orchestrator.extensions.telemetry.otlp_client import OtlpClient
from orchestrator.extensions.telemetry.otlp_json import build_resource
from orchestrator.extensions.telemetry.otlp_settings import OtlpSettings, parse_pairs
from orchestrator.extensions.telemetry.span_batch import BatchReader
from orchestrator.extensions.telemetry.span_exporter import SpanExporter

TRACES_KEPT = "It gets them later, as long as the journal keeps the turns"
METRICS_MISSED = "The values of that time are missing"


def build_exporters(
    settings: OtlpSettings, parts: ExporterParts
) -> list[SpanExporter | MetricExporter]:
    """Return an exporter for each signal that has an address."""
    about = build_resource(settings.service_name, parse_pairs(settings.resource))
    found: list[SpanExporter | MetricExporter] = []
    if settings.traces_url is not None:
        client = _build_client(settings.traces_url, settings)
        trouble = CollectorTrouble(client.server, "traces", TRACES_KEPT, parts.jitter)
        reader = BatchReader(parts.store.address, about, client.pack_body)
        found.append(SpanExporter(parts, client, reader, trouble, settings.delay / 1000))
    if settings.metrics_url is not None:
        client = _build_client(settings.metrics_url, settings)
        trouble = CollectorTrouble(client.server, "metrics", METRICS_MISSED, parts.jitter)
        found.append(MetricExporter(parts, client, about, trouble, settings.interval / 1000))
    return found


def _build_client(url: str, settings: OtlpSettings) -> OtlpClient:
    timeout, compressed = settings.timeout / 1000, settings.compression == "gzip"
    return OtlpClient(url, settings.header_values, timeout, compressed)
