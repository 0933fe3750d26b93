"""The extension for telemetry: metrics for Prometheus, metrics and traces for a collector."""

from orchestrator.extension import DaemonView, Extension, Part


class TelemetryExtension(Extension):
    """Metrics and traces, read from the journal after the fact."""

    name = "telemetry"

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.telemetry.telemetry_service import Telemetry

        return Telemetry(daemon)
