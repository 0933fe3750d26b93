"""Metrics and traces for other systems, outside of the message path.

`journal_delta` reads what the journal has recorded since the last read, and `journal_counters` adds
it up. With `live_figures` these are the metrics of `metric_catalog`, which Prometheus fetches as
`prometheus_text`, and `metric_exporter` sends as `otlp_metrics`. `span_batch` reads turns that have
ended, `otlp_spans` makes their spans, and `span_exporter` sends them until they are accepted.
`otlp_settings` says where, `otlp_client` posts, `collector_trouble` remembers what fails, and
`telemetry_service` is the whole.

Why not the SDK of OpenTelemetry: memory would allow it (3.4 MB), but spans are made of the journal
after the fact, and each is sent until it is accepted. The SDK's exporter blocks a thread, gives up
after six tries and skips what a collector has rejected. `otlp_json` and `otlp_metrics`, 85 lines,
are all that it would replace, by 30 MB of packages.
"""
