"""Every metric of the daemon."""

from orchestrator.extensions.telemetry.counted_events import BOUNDS
from orchestrator.extensions.telemetry.metric_families import Family, Labels

SECONDS = tuple(bound / 1000 for bound in BOUNDS)
MODEL = ("agent", "model")
PURPOSE = (*MODEL, "purpose")


def _make_counter(name: str, about: str, labels: Labels, unit: str = "") -> Family:
    return Family(f"orchestrator_{name}", "counter", about, labels, unit)


def _make_seconds_histogram(name: str, about: str, labels: Labels) -> Family:
    return Family(f"orchestrator_{name}_seconds", "histogram", about, labels, "s", SECONDS)


def _make_gauge(name: str, about: str, labels: Labels = (), unit: str = "") -> Family:
    return Family(f"orchestrator_{name}", "gauge", about, labels, unit)


MESSAGES = _make_counter(
    "messages", "Messages that ended, by what became of them.", ("channel", "kind", "outcome")
)
TURNS = _make_counter("turns", "Turns that ended.", ("agent", "stop_reason"))
TURN_SECONDS = _make_seconds_histogram(
    "turn_duration", "From the start of a turn to its reply, with all its waits.", ("agent",)
)
CALL_SECONDS = _make_seconds_histogram(
    "model_call_duration", "Model calls of turns, with their retries.", MODEL
)
FIRST_SECONDS = _make_seconds_histogram(
    "model_time_to_first_token",
    "From the start of a model call to the first event of its answer.",
    MODEL,
)
RETRIES = _make_counter(
    "model_retries", "Attempts that failed before their call was answered.", MODEL
)
CALLS = _make_counter(
    "model_calls", "Model calls, those of background work too.", (*PURPOSE, "outcome")
)
TOKENS = _make_counter(
    "model_tokens", "Tokens of answered calls; cached ones are in prompt too.", (*PURPOSE, "type")
)
COST = _make_counter(
    "model_cost_usd", "Cost of answered calls of models with a known price.", PURPOSE, "USD"
)
TOOLS = _make_counter(
    "tool_calls", "Tool calls that ended; an unknown one may have run.", ("tool", "outcome")
)
RESTARTS = _make_counter("worker_restarts", "Unclean ends of an agent's worker.", ("agent",))
SPANS = _make_counter(
    "exported_spans", "Spans for the collector, by what became of them.", ("outcome",)
)

INBOX = _make_gauge(
    "inbox_messages", "Messages that wait, are answered now, or were given up.", ("state",)
)
OUTBOX = _make_gauge("outbox_messages", "Messages that are not delivered yet.")
APPROVALS = _make_gauge("approvals_waiting", "Tool calls that wait for a person.")
OPEN_TURNS = _make_gauge("open_turns", "Turns that have not ended.", ("state",))
CHANNEL_UP = _make_gauge("channel_up", "1 if a channel is in order, else 0.", ("channel",))
CHANNEL_REFUSED = _make_counter(
    "channel_refused",
    "Requests of a channel that were refused before they were stored.",
    ("channel",),
)
CHANNEL_AGE = _make_gauge(
    "channel_last_ok_age_seconds",
    "Time since the last successful poll of a channel that polls, or look at a webhook.",
    ("channel",),
    "s",
)
TOOL_SERVER = _make_gauge(
    "tool_server_state", "1 for the state that an MCP server is in.", ("server", "state")
)
JOURNAL = _make_gauge("journal_bytes", "Size of the journal with its write-ahead log.", unit="By")
BUILD = _make_gauge("build_info", "Always 1; the labels tell what runs.", ("version", "python"))
STARTED = _make_gauge(
    "process_start_time_seconds", "When the daemon started, in seconds since the epoch.", unit="s"
)
RESIDENT = _make_gauge("process_resident_memory_bytes", "Memory of the supervisor.", unit="By")
