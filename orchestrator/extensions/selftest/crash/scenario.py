"""The messages of people in the self-test, and the model's answers.

A message's text is the name of its script. A reply has marks such as ``four#2``, each of which has
to be visible exactly once at the end.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias

from pydantic import JsonValue

from orchestrator.extensions.selftest.crash import timetable
from thinker.protocol.messages import JsonObject

MENTION = "@selftest_bot"
SERVER = "selftest"
AGENTS = ("work", "home")
HANDOVER = "hand_over"  # in a script, the tool that hands the chat to the other agent
OPERATORS = range(201, 209)  # chats of eight operators, who decide at the same time
STRANGERS = range(301, 309)  # chats that no binding names: an operator has to admit them
GROUP = -105
FILLER = "word " * 560  # 2,800 characters: two of them do not fit into one message of Telegram
Style: TypeAlias = Literal["short", "long", "streamed"]
# An internal error before or after the message arrived, or a refusal for a second.
Fault: TypeAlias = Literal["failed", "lost", "refused"]


@dataclass(frozen=True)
class Script:
    """One message: its chat, the tools of each model call, and the form of the reply.

    ``follows`` names the message of the same chat during whose turn this one is sent. ``work``
    names the script that a subagent or a scheduled task of this one follows. ``decision`` is what
    operators do with its calls, ``approve`` or ``deny``, if they need approval. ``faults`` befall
    the next messages that are sent to its chat once the model is asked. ``corrects`` names the
    message that its sender edits, so that it reads as this one. One that ``boasts`` claims at first
    what was not done, and answers when the claim goes back. One that is ``stopped`` is answered for
    so long that its sender writes ``/stop``.
    """

    name: str
    chat: int
    steps: tuple[tuple[str, ...], ...] = ()
    style: Style = "short"
    follows: str = ""
    work: str = ""
    decision: str = ""
    faults: tuple[Fault, ...] = ()
    corrects: str = ""
    boasts: bool = False
    stopped: bool = False

    @property
    def is_direct(self) -> bool:
        """Whether the reply is sent once, without a placeholder that is edited later."""
        return self.chat < 0

    @property
    def marks(self) -> tuple[str, ...]:
        count = 1 if self.style == "short" else 2
        return tuple(f"{self.name}#{number}" for number in range(1, count + 1))

    @property
    def notes(self) -> tuple[str, ...]:
        """The marks of the messages that its tools send, in order."""
        return tuple(
            f"{self.name}#note{step}"
            for step, tools in enumerate(self.steps)
            if "send_message" in tools
        )

    def split_reply(self) -> tuple[str, ...]:
        """Return the pieces in which the reply is streamed."""
        first, *rest = self.marks
        if self.style == "short":
            return (f"{first} done",)
        if self.style == "long":
            return (first, f" {FILLER}\n\n{rest[0]} {FILLER}")
        return (f"{first} is the beginning of an answer that grows,", f" and {rest[0]} its end")

    def build_arguments(self, step: int, tool: str, now: float) -> JsonObject:
        """Return the arguments of a tool call; ``now`` is in seconds since the epoch."""
        name = f"{self.name}.{step}.{tool}"
        if tool == "store_fact":
            return {"fact": name}
        if tool == "spawn_subagent":
            return {"task": self.work}
        if tool == "schedule_task":
            schedule = timetable.build_cron_expression(now)
            when: JsonObject = {"schedule": schedule, "timezone": "UTC", "no_tools": "true"}
            return {"name": self.work, "instructions": self.work, **when}
        if tool == "send_message":
            return {"message": f"{self.name}#note{step}"}
        if tool == "read_skill":
            return {"name": "orchestrator-guide"}
        return {} if tool in ("get_time", HANDOVER) else {"name": name}


Scenario: TypeAlias = Mapping[str, Script]


def make_scenario(*scripts: Script) -> Scenario:
    return {script.name: script for script in scripts}


def select_sent_scripts(scripts: Scenario) -> Scenario:
    """Return the scripts that people send.

    The others are work of subagents and tasks, and new words of messages.
    """
    work = {script.work for script in scripts.values()}
    return {
        name: script for name, script in scripts.items() if name not in work and not script.corrects
    }


# At most four sends to a chat: more would wait for Telegram's limit of one per second.
STANDARD = make_scenario(
    Script("one", 101, (("get_time", "store_fact"), ("read_skill",))),
    Script("two", 101, follows="one"),
    Script("three", 102, (("send_message",), ("store_fact", "get_time", "get_time"))),
    Script("four", 103, style="long"),
    Script("five", 104, (("store_fact",),), style="streamed"),
    Script("six", 104, (("get_time",),), follows="five"),
    Script("seven", -105),
    Script("eight", -105, (("store_fact",),), follows="seven"),
    Script("nine", -105, follows="seven"),
)
EFFECTS = make_scenario(
    Script("one", 101, (("selftest_effect",), ("selftest_keyed", "selftest_effect"))),
    Script("two", 101, follows="one"),
    Script("three", 104, (("selftest_keyed",),)),
    Script("four", 102, (("spawn_subagent",),), work="five"),
    Script("five", 102, (("selftest_effect",), ("selftest_keyed",))),
)
GUARDED = make_scenario(
    Script("one", 101, (("selftest_effect",), ("selftest_keyed",)), decision="approve"),
    Script("two", 103, (("selftest_effect",),), decision="deny"),
    Script("three", 102, (("schedule_task",),), work="four"),
    Script("four", 102),
)
FAILING = make_scenario(
    Script("one", 101, faults=("failed",)),
    Script("two", 101, style="streamed", follows="one"),
    Script("three", 103, (("send_message",),), style="streamed", faults=("refused", "failed")),
    Script("four", 103, follows="three"),
    Script("five", 102, style="streamed", faults=("lost",)),
    Script("six", -105, faults=("failed",)),
    Script("seven", -105, follows="six"),
)
PAIRING = make_scenario(
    Script("one", 301), Script("two", 301), Script("three", 302), Script("four", 101)
)
POISON = make_scenario(Script("one", 101), Script("two", 101))
SCENARIOS: Mapping[str, Scenario] = {
    "standard": STANDARD,
    "effects": EFFECTS,
    "guarded": GUARDED,
    "failing": FAILING,
    "pairing": PAIRING,
    "poison": POISON,
}


CHATS: Mapping[int, str] = {101: "work", 102: "work", 103: "work", -105: "work", 104: "home"}


def build_agents_file(
    scenario: Scenario,
    model_url: str,
    ledger: Path,
    chats: Mapping[int, str] = CHATS,
    fields: Mapping[str, JsonValue] = MappingProxyType({}),
) -> JsonObject:
    """Return the agents.json of a scenario: each chat bound, no other chat admitted.

    ``chats`` have the agents of chats; ``fields`` are added to every agent. If chats are handed
    over, the agents `AGENTS` have the prompts of `build_prompts`. Strangers' chats are bound by a
    wildcard, which admits none of them. It has the server of effects if the scenario calls that. If
    operators decide, the server's tools need approval, each operator has a chat, and the people of
    the group may decide.
    """
    guarded = {chats.get(script.chat, "work") for script in scenario.values() if script.decision}
    called = {tool for script in scenario.values() for step in script.steps for tool in step}
    strangers = [script for script in scenario.values() if script.chat in STRANGERS]
    server: JsonObject = {
        "command": sys.executable,
        "args": ["-P", "-m", "orchestrator.extensions.selftest.crash.effects", str(ledger)],
        "trusted": True,
    }

    def choose_prompt(agent_id: str) -> JsonObject:
        if HANDOVER in called and agent_id in AGENTS:
            return {"prompt": f"{agent_id}-prompt", "systemPrompt": ""}
        return {"systemPrompt": f"You are {agent_id}."}

    def make_agent(agent_id: str) -> JsonObject:
        return {
            "agentId": agent_id,
            "llmProvider": "openai",
            "baseUrl": f"{model_url}/v1",
            "model": "scripted",
            **choose_prompt(agent_id),
            "approvals": [f"{SERVER}_*"] if agent_id in guarded else [],
            "provenance": "off",  # a task after a tool's result would wait for an operator
            **fields,
        }

    def make_binding(chat: int | str, agent_id: str) -> JsonObject:
        role: JsonObject = {"role": "approve"} if chat == GROUP and guarded else {}
        return {"channel": "telegram", "chatId": str(chat), "agentId": agent_id, **role}

    return {
        "mcpServers": {SERVER: server} if any(SERVER in tool for tool in called) else {},
        "agents": [make_agent(agent_id) for agent_id in dict.fromkeys([*AGENTS, *chats.values()])],
        "bindings": [
            *(make_binding(chat, agent_id) for chat, agent_id in chats.items()),
            *(make_binding(chat, "work") for chat in OPERATORS if guarded),
            *(make_binding("*", "work") for _ in strangers[:1]),
        ],
    }


def build_prompts(scenario: Scenario) -> dict[str, JsonObject]:
    """Return the prompts of the agents that may call every tool of scripts, and hand over."""
    called = {tool for script in scenario.values() for step in script.steps for tool in step}
    return {
        f"{agent_id}-prompt": {
            "toolDescription": f"The agent {agent_id}.",
            "model": "inherit",
            "prompt": f"You are {agent_id}.",
            "includeChat": True,
            "includePastTools": True,
            "tools": [*sorted(called - {HANDOVER}), other],
        }
        for agent_id, other in zip(AGENTS, reversed(AGENTS), strict=True)
        if HANDOVER in called
    }
