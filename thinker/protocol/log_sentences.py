"""Log events in words for a terminal: one sentence each.

An event without a sentence here, or without a fact of its sentence, is shown by name with all its
facts.
"""

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from string import Formatter
from typing import Any

from thinker.protocol.names import format_chat_name
from thinker.protocol.visible_text import make_printable

CLOCK = "%H:%M:%S"
TURN_DIGITS = 8  # of the end of a turn's id, which commands accept in its place
SECOND = 1000
MIN_SHOWN_DOLLARS = 0.0001  # the least that four digits show
INDENT = " " * 9
RESET = "\x1b[0m"
COLORS = {"debug": "\x1b[2m", "warning": "\x1b[33m", "error": "\x1b[1;31m", "critical": "\x1b[31m"}
AGENT_COLOR = "\x1b[36m"
FAINT = "\x1b[2m"
LOUD = ("warning", "error", "critical")
FRAME = ("event", "level", "timestamp", "agent_id", "chat_id", "turn_id", "exception")
FAULT = "a fault of the program with {chat}, please report these lines"
WORK = {
    "interactive": "message from {chat}",
    "proactive": "scheduled task begins ({chat})",
    "subagent": "work of a subagent begins",
    "request": "API request ({chat})",
    "hook": "webhook ({chat})",
}
REFUSED = "its messages are refused until that is corrected; see: orchestrator status"
SENTENCES = {
    # a message
    "messages_accepted": "{received} received, {stored} for agents; {others}",
    "webhook": "webhook {hook}: {delivery} for {agent}",
    "webhook_refused": "webhook {hook} refused with status {status}: {problem}",
    "hook_chat_unreachable": "the answer of webhook {hook} stays in the journal: no {chat} here",
    "message_refused": "no answer to {chat}: {reason}; bind the chat in agents.json",
    "tool_call": "runs {tool}",
    "tool_call_broke": "a tool broke; the model is told. This is a fault of the tool's code",
    "approval_needed": "waits: {tool} needs an approval; see: orchestrator approvals list",
    "turn_replied": "answered {chat} in {duration}: {usage}{ending}",
    "turn_degraded": "answers with less: {what}",
    "turn_cancelled": "stopped answering {chat}",
    "turn_waits": "cannot answer yet: {problem}; messages wait",
    "turn_broke": f"{FAULT}; the answer is tried again",
    "chat_failed": f"{FAULT}; its messages are tried again",
    "delivery_broke": f"{FAULT}; the reply is sent again",
    "turn_failed": "gave up on {chat}: {problem}",
    "turn_lost_its_worker": "its process died while it answered (death {deaths}): {problem}",
    "message_given_up": "gave up a message of {chat}: {problem}; see: orchestrator dlq list",
    "send_failed": "a reply did not reach {chat} ({outcome}): {problem}",
    "held": "{channel} wants nothing sent for {seconds} s; replies wait",
    "chat_moved": "{channel} chat {old} has the new id {new}; agents.json may keep the old one",
    # models
    "model_retry": "{model} failed (try {attempt}), again in {wait} s: {error}",
    "model_fallback": "{model} failed, {next_model} takes over: {error}",
    "model_failed": "{model} gave no answer: {error}",
    "circuit_breaker": "{model}: circuit breaker {state}; open means no calls for a minute",
    "request_form_changed": "{model} refused the tools or the history of a request, which is sent"
    " again in another form: {words}",
    "tool_calls_as_text": "{model} takes no tools, so they are described in words: {why}",
    "pictures_refused": "{model} takes no pictures, so it gets their place only: {error}",
    "embeddings_unavailable": "facts are found only by their words: {problem}",
    "media_call_failed": "{method} gave no answer: {problem}",
    "upkeep_failed": "{work} failed and is tried again: {problem}",
    "agent_paused": "paused: {reason}; then: orchestrator agents resume {agent}",
    "agent_paused_again": "still paused: {reason}",
    # the daemon
    "ready": "ready: {agents} on {channels}",
    "hint": "{text}",
    "stopping": "stopping ({signal}): turns reach their next step and replies go out",
    "daemon_failed": "the daemon ended: {problem}",
    "ended_at_once": "ended at once: {reason}",
    "journal_created": "made a new journal: {path}",
    "journal_failed": "the journal cannot be used: {problem}; tried again",
    "journal_damaged": "the journal is damaged: {problem}; stop and restore a backup",
    "journal_not_checked": "the journal was not checked: {problem}; the next start tries again",
    "storage_full": "{problem}; messages wait",
    "storage_has_space": "the journal takes messages again",
    "standing_by": "another daemon has the journal at {journal}; this one waits until it ends",
    "journal_lost": "{problem}; this one stands by",
    "journal_taken": "has the journal at {journal}",
    "commit_unanswered": "the server did not answer a commit; what it stored is looked up",
    "clock_differs": "the clock here is {seconds} s behind that of the journal, which counts",
    "log_not_kept": "no log is kept in the home: {problem}",
    "collector_failed": "{server} takes no {signal}: {problem}; tried again",
    "collector_works": "{server} takes {signal} again",
    "collector_broke": "sending {signal} broke; tried again. This is a fault of the program",
    "spans_refused": "the collector refused {spans} spans, they are left out: {problem}",
    "spans_rejected": "the collector rejected {spans} spans: {problem}",
    "config_applied": "the new configuration is active: {agents} agents, changed: {names}",
    "config_refused": "the edit is refused; the last good file applies; see: orchestrator check",
    "config_brought": "version {version} of the configuration, pushed from {host}, is in the home",
    "config_not_brought": "{problem}",
    "local_edit_kept": "a pushed version replaces {file}, which was edited here; see {kept}",
    "config_problem": "{problem}",
    "prompt_problem": "{problem}",
    "edits_not_noticed": "edits are not noticed: {problem}",
    "messages_may_be_lost": "{problem}",
    "hook_not_loaded": "the hook {hook} is left out, correct it: {problem}",
    "hook_failed": "the hook {hook} failed at {point} and is passed over; correct it",
    "task_disabled": "task {task} is disabled: {problem}; then: orchestrator tasks enable {task}",
    "config_broken_using_last_good": "agents.json is broken, the last good one is used: {problem}",
    "telegram_failed": "Telegram: {detail}",
    "telegram_webhook_set": "Telegram pushes to {url}",
    "telegram_push_refused": "/telegram: {problem}",
    "api_listening": "the API listens on {address}",
    "api_closed": "the API no longer listens on port {port}",
    "agent_port": "listens on port {port}",
    # processes
    "worker_ready": "its process is ready (pid {pid}, {ms} ms)",
    "worker_ended": "its process ended ({kind}): {reason}; {then}",
    "child_hung": "{child} hangs and is replaced: {why}",
    "broker_ended": "the broker ended ({kind}): {reason}; another one starts",
    "tool_host_ended": "the tool host ended ({kind}): {reason}",
    "mcp_server_connected": "the tool server {server} is connected with {tools} tools",
    "mcp_server_failed": "the tool server {server} of agents.json failed: {problem}",
    "mcp_tool_left_out": "{problem}",
    "mcp_tool_changed": "{server} changed {tool}, so it is withheld; see: orchestrator tools list",
    "mcp_call_lost": "{tool} was cut off: {problem}",
}


def is_color_wanted() -> bool:
    """Return whether a terminal of this process accepts colors."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def format_sentence(event: Mapping[str, Any], *, colored: bool = False, clock: str = CLOCK) -> str:
    """Return an event as a line for people; a traceback follows on further lines."""
    level = str(event.get("level", "info"))
    agent, turn = str(event.get("agent_id", "")), str(event.get("turn_id", ""))[-TURN_DIGITS:]
    words = make_printable(_format_words(event)).replace("\n", f"\n{INDENT}")
    parts = [_paint_text(_format_time(event, clock), FAINT, colored=colored)]
    if level in LOUD:
        parts.append(_paint_text(level.upper(), COLORS[level], colored=colored))
    if agent:
        parts.append(_paint_text(f"{make_printable(agent)}:", AGENT_COLOR, colored=colored))
    parts.append(_paint_text(words, COLORS.get(level, ""), colored=colored))
    if turn:
        parts.append(_paint_text(f"[{make_printable(turn)}]", FAINT, colored=colored))
    if event.get("exception"):
        parts.append(f"\n{make_printable(str(event['exception']))}")
    return " ".join(parts)


def _format_words(event: Mapping[str, Any]) -> str:
    name = str(event.get("event", ""))
    template = SENTENCES.get(name, "")
    if name == "turn_started":
        template = WORK.get(str(event.get("recipe")), "")
    facts = {**event, **dict(_derive_facts(event))}
    needed = {field for _, field, _, _ in Formatter().parse(template) if field}
    if not template or not needed <= facts.keys():
        return _format_unknown(name, event)
    return template.format_map({field: _format_fact(facts[field]) for field in needed})


def _format_unknown(name: str, event: Mapping[str, Any]) -> str:
    """Return an event's name and facts, the reason first."""
    facts = {key: value for key, value in event.items() if key not in FRAME}
    why = [_format_fact(facts.pop(key)) for key in ("problem", "reason", "error") if key in facts]
    rest = [f"{key}={_format_fact(value)}" for key, value in facts.items()]
    if "chat_id" in event:
        rest.append(f"chat={format_chat_name(str(event['chat_id']))}")
    return ": ".join([name.replace("_", " "), *why]) + (f" ({', '.join(rest)})" if rest else "")


def _derive_facts(event: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield facts in the form that sentences use, if it differs from the logged form."""
    where = event.get("chat", event.get("chat_id"))
    if where is not None:
        yield "chat", format_chat_name(str(where))
    if "agent_id" in event:
        yield "agent", str(event["agent_id"])
    if isinstance(event.get("ms"), int | float):
        ms = event["ms"]
        yield "duration", f"{ms / 1000:.1f} s" if ms >= SECOND else f"{ms:.0f} ms"
    if isinstance(event.get("tokens"), int):
        yield "usage", f"{event['tokens']:,} tokens{_format_cost(event.get('usd'))}"
    refused = event.get("refused")
    yield (
        "others",
        f"no answer to {_format_fact(refused)}" if refused else "the daemon answers the others",
    )
    final = event.get("kind") == "config"
    yield "then", REFUSED if final else "its messages wait for the next one"
    reason = event.get("stop_reason", "done")
    yield "ending", "" if reason == "done" else f" ({_format_fact(reason)})"


def _format_cost(usd: object) -> str:
    """Return the text after the tokens; empty for a model without a price, or without cost."""
    if not isinstance(usd, int | float) or not usd:
        return ""
    return f", ${usd:.4f}" if usd >= MIN_SHOWN_DOLLARS else f", under ${MIN_SHOWN_DOLLARS}"


def _format_fact(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "nothing"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_format_fact(item)}" for key, item in value.items())
    return str(value)


def _format_time(event: Mapping[str, Any], clock: str) -> str:
    """Return the local time at which an event was logged."""
    try:
        return datetime.fromisoformat(str(event.get("timestamp"))).astimezone().strftime(clock)
    except ValueError:
        return "-"


def _paint_text(text: str, color: str, *, colored: bool) -> str:
    return f"{color}{text}{RESET}" if colored and color else text
