"""The daemon's own messages in chats, and the composition of replies. Pure."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import JsonValue

from thinker.protocol.messages import JsonObject
from thinker.protocol.names import format_turn_name
from thinker.protocol.visible_text import format_one_line

# Where each value of a call's arguments is from, by its path: kind, name, whether it decides.
Sources = Mapping[str, tuple[str, str, bool]]

NO_AGENT = "No agent answers this chat. Ask my operator to add a binding for it."
PAIRED = "My operator has let you in. Write to me; /help lists what else I understand."
PAIRED_ANSWERS = "I am answering what you wrote."
HELD_FULL = (
    "I keep what you have written until my operator lets you in, and have no room for more. Please"
    " wait until then."
)
NOT_SPOKEN = "I could not speak this answer: {problem}."
NOTHING = "I have nothing to say to that."
GONE = "This agent was removed from the configuration while it was answering you."
BROKEN = "An internal error kept me from answering; my operator's log has the details."
POISON = (
    "I am sorry: the agent died {deaths} times while it answered this message, so I gave it up."
    " Reference: {turn}"
)
TIMED_OUT = "It did not finish within {minutes} minutes and was stopped."
SUBAGENT_DIED = "Its process died {deaths} times, so I gave it up. Reference: {turn}"
UNSURE = "⚠️ I couldn't confirm whether this happened: {tool}."
NOT_CONFIRMED = "⚠️ Not confirmed: {note}."
LATE = "⚠️ I couldn't confirm that this reached you earlier:\n{text}"
APPROVAL = (  # Markdown
    "I need my operator's approval for this call:\n```\n{facts}\n```\n"
)
APPROVAL_OF_ALL = (  # Markdown
    "I need my operator's approval for these {n} calls:\n```\n{facts}\n```\n"
)
APPROVAL_ANSWERS = (
    "/approve {code} or /deny {code}, or on my machine:\n"
    "orchestrator approvals grant {code}\norchestrator approvals deny {code}"
)
BLOCK_ENDS = "\n```\n"  # of the facts of a question
# What a question says of a value by the kind of its source; with a name for most of them.
WRITERS = {
    "operator": "from my operator's files",
    "directory": "from the directory",
    "web": "from the page",
    "tool": "from the tool",
    "other_user": "from another person",
    "model": "the model's own",
}
WRITER_NAME = 40  # characters of a name
_PLAIN = re.compile(r"[\w.:/@…-]+")
ASKED_ELSEWHERE = (
    "This needs my operator's approval. I have asked for it, and go on once I have it."
)
ASKED_NOBODY = (
    "This needs an approval that no one here may give, and no chat of my operator is known. My"
    " operator finds the question on the page, and with: orchestrator approvals list"
)
TOOL_CHANGED = (
    "⚠️ The MCP server of the tool {tool} changed its description. No agent may use the tool until"
    " you have checked and approved it:\n"
    "/approve {name}, or: orchestrator tools approve {name}"
)
TOOL_WITHHELD = (
    "the tool {tool!r} has changed; it can be used when my operator has approved it again"
)
TOOL_WAITS = "⏳ Waiting for the tool server {server!r} to start"
QUARANTINE = "I cannot answer right now: the agent keeps failing. Your message is kept."
NO_START = (
    "I cannot answer: this agent cannot start with its configuration; an API key may be missing."
    " My operator can see what to set with: orchestrator status"
)
NO_EXTENSION = (
    "I cannot answer this: the extension for turns of the kind {kind!r} is not installed any more."
)
TASK_OFF = (
    "⚠️ The scheduled task {name!r} failed {failures} times in a row, so I disabled it ({error}).\n"
    "To enable it again: orchestrator tasks enable {id}"
)
DEGRADED = "⚠️ Agent '{agent}' answers with less: {what}\nMore: orchestrator trace {turn}"
NO_TOOLS = "⚠️ I have none of the tools of {server!r} now, and answer without them."
COMMAND_FAILED = "That did not work; my operator's log says why."
PAUSED = "I am paused: {reason}. Your messages are kept; I will answer them when I continue."
PAUSE_ALERT = (
    "Agent '{agent}' is paused: {reason}. Its messages are kept.\n"
    "/resume {agent}, or: orchestrator agents resume {agent}"
)


def format_on_one_line(value: JsonValue) -> str:
    """Return a value as JSON on one line with nothing hidden; see `format_one_line`."""
    return format_one_line(json.dumps(value, ensure_ascii=False, sort_keys=True))


def format_arguments(arguments: JsonObject, sources: Sources | None = None) -> list[str]:
    """Return a line for each argument of a call, for a person to check.

    With ``sources``, what decides comes first, and each line ends with where its value is from.
    """
    found = sources or {}
    lines = {
        name: (
            f"  {format_on_one_line(name)}: {format_on_one_line(value)}{mark_source(found, name)}"
        )
        for name, value in arguments.items()
    }
    return [lines[name] for name in sort_deciding_first(found, arguments)]


def cut_answers(question: str) -> str:
    """Return the text of a question without the commands that answer it."""
    facts, end, _ = question.rpartition(BLOCK_ENDS)
    return f"{facts}{end}".rstrip() or question


def sort_deciding_first(sources: Sources, names: Iterable[str]) -> list[str]:
    """Return the names of arguments, those first that decide where a call goes."""
    return sorted(names, key=lambda name: not any(one[2] for one in iter_sources(sources, name)))


def iter_sources(sources: Sources, name: str) -> Iterator[tuple[str, str, bool]]:
    """Yield where the parts of an argument's value are from."""
    for path, source in sources.items():
        if path == name or (path.startswith(name) and path[len(name)] in ".[/"):
            yield source


def mark_source(sources: Sources, name: str, user: str = "the user") -> str:
    """Return where an argument is from, to be written behind it: ``  (from the tool search)``."""
    said = dict.fromkeys(
        describe_source(kind, named, user) for kind, named, _ in iter_sources(sources, name)
    )
    return f"  ({', '.join(said)})" if said else ""


def describe_source(kind: str, name: str, user: str = "the user") -> str:
    """Say where a value is from: ``from the page example.com``."""
    if kind == "user":
        return f"{user} wrote it"
    known = WRITERS.get(kind, f"from {kind}")
    cut = name if len(name) <= WRITER_NAME else f"{name[:WRITER_NAME]}…"
    if not cut or kind == "model":
        return known
    shown = cut if _PLAIN.fullmatch(cut) else format_on_one_line(cut)  # which cannot look like ours
    return f"{known}, {shown}" if kind == "other_user" else f"{known} {shown}"


def format_poison(deaths: int, turn_id: str) -> str:
    """Return what a chat is told about a message that was given up."""
    return POISON.format(deaths=deaths, turn=format_turn_name(turn_id))


def compose_reply(answer: str, unconfirmed: Sequence[str], unsure_tools: Sequence[str]) -> str:
    """Return the whole text of a reply.

    Args:
        answer: the model's answer.
        unconfirmed: earlier messages of the chat that may not have arrived.
        unsure_tools: tools of this turn that may or may not have run.
    """
    late = [LATE.format(text=text) for text in unconfirmed]
    unsure = [UNSURE.format(tool=tool) for tool in unsure_tools]
    return "\n\n".join([*late, answer.strip() or NOTHING, *unsure])
