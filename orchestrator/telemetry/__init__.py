"""Metrics and traces for other systems; nothing here is on the way of a message.

`journal_look` reads what the journal has recorded since the last look, and `journal_counters` adds
it up. With `live_figures` these are the metrics of `metric_catalog`, which Prometheus fetches as
`prometheus_text`, and `metric_exporter` sends as `otlp_metrics`. `span_batch` reads turns that have
ended, `otlp_spans` makes their spans, and `span_exporter` sends them until they are taken.
`otlp_settings` says where, `otlp_client` posts, `collector_trouble` remembers what fails, and
`telemetry_service` is the whole.
"""
