"""Decisions in people's words: every act of the page, and those of chats and terminals."""

import json
import re
from collections.abc import Mapping

from pydantic import JsonValue

from orchestrator.control import editing, protocol, trials
from orchestrator.extensions.page.daemon_side import page_protocol
from orchestrator.extensions.page.html.outside_text import shorten_text, show_hidden_characters
from orchestrator.extensions.page.reads.decision_log import NOT_DONE, AuditEntry
from thinker.protocol.names import format_chat_name

MAX_PART = 60  # characters of a name or a reason
# What an act of the page does, with fields of its form; what stands in [] needs its field.
ACTS: Mapping[str, str] = {
    page_protocol.WEB_SEND: "write a message[ to {agent}]",
    page_protocol.CALL_SETTLE: "say whether a call happened",
    page_protocol.DASHBOARD_INVITE: "invite[ {user}] to this page",
    page_protocol.DASHBOARD_REVOKE: "end the logins[ of {user}]",
    "sessions/end": "end a conversation",
    protocol.APPROVAL_DECIDE: "answer a question[ with the code {code}]",
    protocol.PAIR_APPROVE: "let a chat in[ as {role}]",
    protocol.PAIR_REVOKE: "shut out[ {channel}:{chatId}]",
    protocol.PAIR_ROLE: "change the rights[ of {channel}:{chatId}][ to {role}]",
    "pair/refuse": "refuse a chat[ with the code {code}]",
    "pair/restore": "let[ {channel}:{chatId}] in again",
    protocol.TOOL_APPROVE: "approve the tool[ {name}]",
    protocol.CLAIM_CONFIRM: "say that what an answer claims is true",
    protocol.DLQ_RETRY: "try message[ {id}] again",
    protocol.DLQ_DROP: "drop message[ {id}]",
    protocol.AGENT_PAUSE: "pause[ {agentId}]",
    protocol.AGENT_RESUME: "resume[ {agentId}]",
    protocol.RELOAD: "read agents.json again",
    protocol.TASK_RUN: "run task[ {id}]",
    protocol.TASK_ENABLE: "switch on task[ {id}]",
    protocol.TASK_DISABLE: "switch off task[ {id}]",
    editing.FILE_SAVE: "change[ {name}]",
    editing.FILE_UNDO: "undo a change[ of {name}]",
    "setup/model": "set up the model[ {model}][ of {provider}][ for {agentId}]",
    "setup/bot": "connect a Telegram bot[ as {account}]",
    "keys/set": "set the key[ {name}]",
    "keys/remove": "remove the key[ {name}]",
    "budget/extend": "allow[ ${usd}] more today[ for {agentId}]",
    "rules/add": "allow calls for good[ like that of the code {code}]",
    "rules/revoke": "end rule[ {id}]",
    "backup/make": "make a backup",
    "daemon/restart": "restart the daemon",
    "memory/edit": "edit fact[ {id}]",
    "memory/undo": "undo the change of fact[ {id}]",
    "memory/forget": "forget fact[ {id}] for good",
    "profile/set": "change the profile[ of {agent}][ in {chat}]",
    trials.TRIAL_START: "try earlier turns again[, also at {confirmed}]",
    trials.TRIAL_STOP: "stop trial[ {id}]",
    trials.TRIAL_GO_ON: "go on with trial[ {id}]",
    trials.SETS_ADD: "save a turn as a test[ in {setName}]",
    trials.SETS_REMOVE: "remove a test[ from {setName}]",
    "branches/fork": "fork a chat[ at turn {turn}]",
    "branches/rewind": "rewind a chat[ to turn {turn}]",
}
# How the first words of an act are in the past.
_PAST = {
    "write": "wrote",
    "say": "said",
    "shut": "shut",
    "let": "let",
    "set": "set",
    "make": "made",
    "drop": "dropped",
    "try": "tried",
    "read": "read",
    "run": "ran",
    "undo": "undid",
    "forget": "forgot",
    "stop": "stopped",
    "go": "went",
    "rewind": "rewound",
}
# Entries of other origin: what their act is, and what is said of it.
_ENTRIES: Mapping[str, str] = {
    r"granted (.+)": "allowed {0}",
    r"denied (.+)": "did not allow {0}",
    r"made rule (\d+)": "allowed {of} for good (rule {0})",
    r"ended rule (\d+)": "ended rule {0}: {of}",
    r"pairing approved": "let in {of}",
    r"pairing revoked": "shut out {of}",
    r"pairing refused": "refused {of}",
    r"pairing may (\w+)": "let {of} {0}",
    r"may spend (\S+) more today": "allowed {0} more today for {of}",
    r"approved a tool that changed": "approved the tool {of}",
    r"call (happened|did not happen)": "said that it {0}: {of}",
    r"dead letter put back": "tried a message again",
    r"dead letter dropped": "dropped a message",
    r"paused: (.+)": "paused {of}: {0}",
    r"(\w+) a fact": "{0} {of}",
    r"undid the change of a fact": "undid the change of {of}",
}
_OPTIONAL = re.compile(r"\[([^]]*)\]")


def describe_decision(entry: AuditEntry) -> str:
    """Say in words what was decided, or tried without success; hidden characters show."""
    tried = entry.act.endswith(NOT_DONE)
    act = entry.act.removesuffix(NOT_DONE)
    if act in ACTS:
        words = _fill_words(ACTS[act], _parse_fields(entry.subject))
        return f"tried to {words}" if tried else _change_to_past(words)
    for pattern, words in _ENTRIES.items():
        found = re.fullmatch(pattern, act, re.DOTALL)
        if found is not None:
            parts = [shorten_text(part, MAX_PART) for part in found.groups()]
            of = shorten_text(entry.subject.removeprefix("agent "), MAX_PART)
            return words.format(*parts, of=of) + _describe_call(entry)
    return f"{show_hidden_characters(act)} {shorten_text(entry.subject, MAX_PART)}".strip()


def _describe_call(entry: AuditEntry) -> str:
    if not entry.chat:
        return ""
    place = show_hidden_characters(format_chat_name(entry.chat))
    reason = f": {shorten_text(entry.reason, MAX_PART)}" if entry.reason else ""
    return f" in {place}{reason}"


def _parse_fields(subject: str) -> dict[str, str]:
    """Return the fields of a form; none of one whose entry was cut."""
    try:
        value: JsonValue = json.loads(subject)
    except ValueError:
        return {}
    named = value if isinstance(value, dict) else {}
    return {name: shorten_text(str(one), MAX_PART) for name, one in named.items() if one}


def _fill_words(words: str, fields: Mapping[str, str]) -> str:
    """Return words with fields; a part in [] is left out without them."""

    def fill(part: re.Match[str]) -> str:
        try:
            return part[1].format_map(fields)
        except KeyError:
            return ""

    return _OPTIONAL.sub(fill, words)


def _change_to_past(words: str) -> str:
    verb, _, rest = words.partition(" ")
    past = _PAST.get(verb) or (f"{verb}d" if verb.endswith("e") else f"{verb}ed")
    return f"{past} {rest}".strip()
