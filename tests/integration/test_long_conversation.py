"""Sixty turns with tools: every byte that the model is sent is what seed 002 says.

The expected requests are built here from the seed's own literals and rules, not by our functions:
layers, the window of 50 messages, its repair, shortened tool results, and summaries in the place of
what was compacted.
"""

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fakes.daemon import RunningDaemon, running_daemon
from fakes.digesting_model import DigestingModel
from fakes.held_model import said, two_agents
from fakes.model_api import Received, Reply
from fakes.seed_prompt import ZONE, minutes, shown, write_skill
from fakes.time_limit import LIMIT

from orchestrator.control import protocol
from orchestrator.control.protocol import ChatOutcome, ChatSend, ChatWait

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="prompts")]

TURNS = 60
KEPT = 5  # turns that compaction leaves
COMPACTED_AFTER = (40, 43, 46)  # the long result of turn 40 passes the threshold until it left
FACT = {"fact": "User prefers trains.", "category": "preference"}
CELLAR = "Look on the <lowest> shelf."
ALMANAC = "Rain. " * 3400  # 20,400 characters: more than the threshold of 5,000 tokens
TRAVEL = "1. Ask for the date.\n2. Compare <two> offers."
SKILL = "---\nname: {name}\ndescription: {about}\n{metadata}---\n{body}\n"

BASE = "You are work."
PLAYBOOK = f"""\
## Workflow Guidance
Follow these steps when relevant:

### Playbook: travel
{TRAVEL}"""
LISTED = """\
<available_skills>
  <skill>
    <name>almanac</name>
    <description>The weather &amp; the moon.</description>
  </skill>
  <skill>
    <name>cellar</name>
    <description>Wine and cheese.</description>
  </skill>
</available_skills>"""
CHAT = "## Current Chat\nchat_id: 123"
TIMES = f"(Dates and times are those of {ZONE}.)"
STAMP = re.compile(r"\[\w+day \d{4}-\d\d-\d\d \d\d:\d\d\] ")
MEMORY = "Relevant memories about the user:\n- User prefers trains. (preference)"


class Said(NamedTuple):
    """One message of the conversation: a ``user``'s, a ``call``, its ``result``, or a ``reply``."""

    turn: int
    kind: str
    text: str
    tool: str = ""


@dataclass
class Expected:
    """The conversation as it should be known, and what the model should be sent."""

    said: list[Said] = field(default_factory=list)
    summary: str = ""

    def system(self, text: str, now: str) -> str:
        """Base prompt and layers for a user's text."""
        knows = any(entry.tool == "store_fact" for entry in self.every)
        layers = (
            BASE,
            PLAYBOOK if "flight" in text else "",
            LISTED,
            f"## Current Date & Time\n{now}",
            CHAT,
            f"## Previous Conversation Context\n{self.summary}" if self.summary else "",
            MEMORY if knows else "",
        )
        return "\n\n".join(layer for layer in layers if layer)

    def __post_init__(self) -> None:
        self.every: list[Said] = []

    def add(self, *entries: Said) -> None:
        """What a turn adds to the session."""
        self.said += entries
        self.every += entries

    def compact(self, summary: str) -> str:
        """A summary takes the place of all but the last turns; what it should be made from."""
        last = self.said[-1].turn
        older = [entry for entry in self.said if entry.turn <= last - KEPT]
        self.said = self.said[len(older) :]
        before, self.summary = self.summary or "(none)", summary
        template = Path("prompts/compaction.md").read_text("utf-8").strip()
        conversation = "\n\n".join((TIMES, *map(transcribed, older)))
        return template.replace("{{SUMMARY}}", before).replace("{{CONVERSATION}}", conversation)


def transcribed(entry: Said) -> str:
    """A message as a summary is made from it."""
    match entry.kind:
        case "user":
            return f"User: {entry.text}"
        case "reply":
            return f"Assistant: {entry.text}"
        case "call":
            return f"Assistant called {entry.tool} {entry.text}"
    text = entry.text.strip()
    return f"Tool {entry.tool}: {text if len(text) <= 500 else text[:500] + ' […]'}"


def window(entries: list[Said]) -> list[dict[str, Any]]:
    """The last 50 messages, orphan results out, results before the last two exchanges as notes."""
    kept = entries[-50:]
    while kept[0].kind == "result":
        kept = kept[1:]
    calls = [position for position, entry in enumerate(kept) if entry.kind == "call"]
    whole = calls[-2] if len(calls) > 1 else 0
    shortened = [
        entry._replace(text=f"[{entry.tool}: truncated, was {len(json.dumps(entry.text))} chars]")
        if entry.kind == "result" and position < whole
        else entry
        for position, entry in enumerate(kept)
    ]
    return wire(shortened)


def wire(entries: list[Said]) -> list[dict[str, Any]]:
    """Messages of OpenAI's format; the fake names every call alike, so the second gets ``_2``."""
    messages: list[dict[str, Any]] = []
    count, name = 0, ""
    for entry in entries:
        if entry.kind == "call":
            count += 1
            name = "call_fake_0" if count == 1 else f"call_fake_0_{count}"
            function = {"name": entry.tool, "arguments": entry.text}
            call = {"id": name, "type": "function", "function": function}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        elif entry.kind == "result":
            messages.append({"role": "tool", "tool_call_id": name, "content": entry.text})
        else:
            role = "user" if entry.kind == "user" else "assistant"
            messages.append({"role": role, "content": entry.text})
    return messages


def script(turn: int) -> tuple[str, tuple[str, dict[str, str], str] | None]:
    """What is said in a turn, and the tool, arguments and result of its call, if it has one."""
    if turn == 10:
        stored = "Stored: User prefers trains. (preference, id 1)"
        return "please keep 10", ("store_fact", FACT, stored)
    if turn == 40:
        return "weather 40", ("read_skill", {"name": "almanac"}, ALMANAC.strip())
    if turn % 15 == 0:
        return f"trains please {turn}", None
    if turn % 10 == 5:
        return f"flight number {turn}", None
    if turn % 3 == 0:
        return f"wine {turn}", ("read_skill", {"name": "cellar"}, CELLAR)
    return f"note {turn}", None


class Conversationalist(DigestingModel):
    """Follows the script."""

    def converse(self, body: dict[str, Any]) -> Reply:
        """The turn's call, then its reply."""
        turn = int(re.findall(r"\d+", said(body))[-1])
        call = script(turn)[1]
        if call is not None and body["messages"][-1]["role"] == "user":
            return Reply(tool_calls=((call[0], call[1]),))
        return Reply(f"reply {turn}")


def converses(model: DigestingModel) -> list[Received]:
    """The requests that belong to turns."""
    digests = model.digested()
    return [request for request in model.requests if request not in digests]


async def test_sixty_turns_are_sent_as_the_seed_says(tmp_path: Path) -> None:
    """Every request of every turn: system prompt and messages, byte for byte."""
    for name, about, metadata, body in (
        ("travel", "Plans journeys.", "metadata:\n  keywords: [flight]\n", TRAVEL),
        ("cellar", "Wine and cheese.", "", CELLAR),
        ("almanac", "The weather & the moon.", "", ALMANAC.strip()),
    ):
        text = SKILL.format(name=name, about=about, metadata=metadata, body=body)
        write_skill(tmp_path, name, text)
    expected = Expected()
    async with Conversationalist() as model:
        config = two_agents(
            model,
            timezone=ZONE,
            skills=["travel", "cellar", "almanac"],
            contextTokens=128_000,
            compaction={"keepTurns": KEPT},
            factExtraction={"enabled": False},
        )
        async with running_daemon(tmp_path, config) as daemon:
            for turn in range(1, TURNS + 1):
                text, call = script(turn)
                seen, before = len(converses(model)), datetime.now(UTC)
                assert await answer(daemon, f"m{turn}", text) == (f"reply {turn}",)
                requests = converses(model)[seen:]
                times = [shown(at) for at in minutes(before, datetime.now(UTC))]
                sent = [*expected.said, Said(turn, "user", text)]
                bodies = [window(sent)]
                entries = [Said(turn, "user", text)]
                if call is not None:
                    tool, arguments, result = call
                    given = json.dumps(arguments, separators=(",", ":"))
                    entries.append(Said(turn, "call", given, tool))
                    entries.append(Said(turn, "result", result, tool))
                    bodies.append(continued(bodies[0], entries[1], entries[2]))
                assert [request.body["messages"][1:] for request in requests] == bodies, turn
                for request in requests:
                    system = request.body["messages"][0]
                    assert system["role"] == "system"
                    assert system["content"] in {expected.system(text, now) for now in times}
                expected.add(*entries, Said(turn, "reply", f"reply {turn}"))
                if turn in COMPACTED_AFTER:
                    count = COMPACTED_AFTER.index(turn) + 1
                    await daemon.logged("session_compacted", times=count)
                    made_from = expected.compact(f"Summary {count}.")
                    assert STAMP.sub("", said((await model.digest(count)).body)) == made_from
    assert model.summaries == len(COMPACTED_AFTER)
    assert len(expected.every) > 2 * 50


async def answer(daemon: RunningDaemon, message: str, text: str) -> tuple[str, ...]:
    """What a console chat is answered; Telegram would take a message a second."""
    say = ChatSend(chat="123", message=message, text=text, agent="work")
    await daemon.ask(protocol.CHAT_SEND, say, protocol.Ack)
    wait = ChatWait(message=message, seconds=LIMIT)
    return (await daemon.ask(protocol.CHAT_WAIT, wait, ChatOutcome)).texts


def continued(messages: list[dict[str, Any]], call: Said, result: Said) -> list[dict[str, Any]]:
    """The request after a call: what was sent before, the call and its whole result."""
    earlier = sum("tool_calls" in message for message in messages)
    both = wire([call, result])
    if earlier:
        both[0]["tool_calls"][0]["id"] = both[1]["tool_call_id"] = f"call_fake_0_{earlier + 1}"
    return [*messages, *both]
