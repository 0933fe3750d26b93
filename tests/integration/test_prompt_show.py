"""`orchestrator prompt show` prints the bytes that the next turn sends, for every kind of agent."""

import json
from contextlib import closing
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread
from fakes.anthropic_api import AnthropicApi
from fakes.bot_api import FakeBotApi
from fakes.calling_model import CallingModel
from fakes.control_server import command
from fakes.daemon import TOKEN, running_daemon
from fakes.held_model import agent
from fakes.journal import connection_in, reading_in
from fakes.mcp_config import entry
from fakes.model_api import ModelApi, Received, Reply
from fakes.seed_prompt import ZONE, write_skill
from fakes.statements import store_fact

from orchestrator.journal.memory.memory_scope import MemoryScope
from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="prompts")]
TEXT = "Is there a train to Berlin?"
SKILL = "---\nname: {name}\ndescription: About {name}.\n{more}---\nLook low at <it>.\n"
HOOK = """
def after_system_message(state, text):
    return text.upper()

def filter_messages(state, messages):
    return messages[-1:]

def prefilter_llm_history(state, messages):
    return [m.model_copy(update={"content": m.content + "!"}) for m in messages]
"""
BODY: JsonObject = {"toolDescription": "d", "model": "inherit"}
DEFINITIONS: dict[str, dict[str, Any]] = {
    "parts": {
        "variables": [
            {"name": "PLACE", "type": "text", "required": True, "description": "d"},
            {"name": "MOOD", "type": "text", "required": True, "description": "d"},
        ],
        "env": {"MOOD": "calm"},
        "includeChat": True,
        "prompt": [
            {"type": "text", "content": "You sit in "},
            {"type": "env", "property": "PLACE"},
            {"type": "text", "content": ", "},
            {"type": "env", "property": "MOOD"},
            {"type": "include", "prompt": "manners"},
        ],
    },
    "desk": {
        "includeChat": True,
        "includePastTools": True,
        "tools": ["get_time", "alone", {"name": "helper"}, {"name": "plain"}, "wild_add"],
        "prompt": {"layered": {"identity": "You coordinate.", "safety": ["Ask first."]}},
    },
    "alone": {"prompt": "You sum up.", "tools": [], "parallelToolCalls": True},
    "forced": {"prompt": "You act.", "tools": ["get_time"], "toolChoice": "required"},
    "form": {
        "prompt": {
            "slots": {
                "system": "You fill in.",
                "output": {"answer": {"$type": "str", "$desc": "the words"}},
            }
        },
        "tools": [],
    },
    "thoughtful": {
        "model": "deep",
        "includeChat": True,
        "prompt": "You think.",
        "reasoning": {"effort": "high", "include": True},
    },
    "hooked": {"prompt": "You are hooked.", "includeChat": True, "hooks": ["shout"]},
}
OWN: dict[str, dict[str, Any]] = {  # fields of agents.json by kind
    "plain": {},
    "persona": {"systemPrompt": ""},
    "default": {"systemPrompt": "", "timezone": "UTC"},
    "profile": {},
    "parts": {"prompt": "parts"},
    "desk": {"prompt": "desk"},
    "alone": {"prompt": "alone"},
    "forced": {"prompt": "forced"},
    "form": {"prompt": "form"},
    "form_as_text": {"prompt": "form", "structuredOutput": "text"},
    "thoughtful": {"prompt": "thoughtful"},
    "skilled": {"skills": ["travel", "cellar"]},
    "as_text": {"toolCalls": "text"},
    "served": {"allowedTools": ["wild_*", "get_time"], "approvals": ["wild_add"]},
    "together": {"memory": "agent"},
    "apart": {"memory": "person", "temperature": 1.1},
    "hooks": {"hooks": ["shout"], "allowHooks": True},
    "hooked": {"prompt": "hooked", "allowHooks": True},
    "cached": {"promptLayout": "cached"},
    "short": {"maxSteps": 1, "limits": {"maxTokensPerTurn": 90000}},
    "bare": {"deniedTools": ["*"], "provenance": "off"},
    "helper": {"asTool": "subagent", "deniedTools": ["spawn_subagent"]},
    "claude": {"llmProvider": "anthropic"},
    "claude_as_text": {"llmProvider": "anthropic", "toolCalls": "text"},
    "claude_form": {"llmProvider": "anthropic", "prompt": "form"},
    "claude_cached": {"llmProvider": "anthropic", "promptLayout": "cached"},
}
KINDS = {kind.replace("_", "-"): fields for kind, fields in OWN.items()}
SEEN = {  # what shows that an agent is of its kind; of most, its own prompt
    "persona": "You are Ada.",
    "profile": "You are of the profile.",
    "parts": "You sit in Kiel, calmBe kind.",
    "desk": "| helper | Give a task to the agent 'helper'. | never |",
    "alone": "You sum up.",
    "forced": '"tool_choice":"required"',
    "form": '"response_format":{',
    "form-as-text": "# OUTPUT REQUIREMENT",
    "thoughtful": '"reasoning_effort":"high"',
    "skilled": "### Playbook: travel",
    "as-text": "## Tools",
    "served": '"name":"wild_add"',
    "hooks": "YOU ARE HOOKS.",
    "hooked": "Berlin?!",
    "cached": "<context>",
    "short": '"tool_choice":"none"',
    "claude-as-text": "## Tools",
    "claude-form": '"output_config":{',
    "claude-cached": "<context>",
}
CHATS = {kind: number for number, kind in enumerate(KINDS, 101)}


def furnish(home: Path) -> None:
    """Prompts, skills, a persona, a hook, and what the journal knows."""
    (home / "prompts").mkdir()
    for name, fields in DEFINITIONS.items():
        text = json.dumps({"name": name, **BODY, **fields})
        (home / "prompts" / f"{name}.json").write_text(text, "utf-8")
    (home / "prompts" / "manners.md").write_text("Be kind.\n", "utf-8")
    persona = home / "agents" / "persona" / "instructions.md"
    persona.parent.mkdir(parents=True)
    persona.write_text("You are Ada.\n\n", "utf-8")
    (home / "hooks").mkdir()
    (home / "hooks" / "shout.py").write_text(HOOK, "utf-8")
    keywords = "metadata:\n  keywords: [train]\n  required_tools: [get_time]\n"
    write_skill(home, "travel", SKILL.format(name="travel", more=keywords))
    write_skill(home, "cellar", SKILL.format(name="cellar", more=""))
    with closing(connection_in(home)) as db:
        profile = json.dumps({"persona": {"system_prompt": "You are of the profile."}})
        for kind, chat in CHATS.items():
            own = MemoryScope(kind, f"telegram:{chat}", joined=False, shared=False)
            scope = MemoryScope.for_whole_agent(kind) if kind == "together" else own
            store_fact(db, scope, "Goes by train only", "preference", "test", 1)
        db.execute(
            "INSERT INTO profile(agent_id, body, updated_at) VALUES('profile', ?, 1)", (profile,)
        )


def configured(home: Path, model: ModelApi, claude: ModelApi) -> JsonObject:
    """An agent of each kind, in a chat of its own."""
    agents: list[Any] = []
    for kind, fields in KINDS.items():
        own: Any = agent(kind, model, timezone=ZONE, skills=[])  # type: ignore[arg-type]
        if fields.get("llmProvider") == "anthropic":
            own["baseUrl"] = claude.url
        prompt = {"systemPrompt": ""} if "prompt" in fields else {}
        agents.append({**own, **prompt, **fields})
    deep: Any = {
        "provider": "openai",
        "model": "deep",
        "baseUrl": f"{model.url}/v1",
        "temperature": 0.9,
    }
    return {
        "agents": agents,
        "models": {"deep": deep},
        "bindings": [
            {
                "channel": "telegram",
                "chatId": str(chat),
                "agentId": kind,
                "variables": {"PLACE": "Kiel"},
            }
            for kind, chat in CHATS.items()
        ],
        "channels": {"telegram": {"access": "open"}},
        "mcpServers": {"wild": entry(home, "wild")},
    }


async def shown(home: Path, kind: str, *, live: bool) -> bytes:
    """What the command prints for an agent; with an agents.json named it asks no daemon."""
    words = ["prompt", "show", kind, "--message", TEXT, "--chat", f"telegram:{CHATS[kind]}"]
    words += ["--layout", "request"]
    words += [] if live else ["--config", str(home / "agents.json")]
    done = await to_thread.run_sync(lambda: command(home, *words))
    assert done.exit_code == 0, (kind, done.stderr)
    return done.stdout.encode()


async def sent(bot: FakeBotApi, apis: tuple[ModelApi, ...], kind: str) -> Received:
    """The first request of a real turn."""
    before = [len(api.requests) for api in apis]
    bot.send_user_message(CHATS[kind], TEXT)
    await bot.reply_in(CHATS[kind])
    news = [api.requests[count:] for api, count in zip(apis, before, strict=True)]
    return next(found[0] for found in news if found)


def minute() -> datetime:
    """The minute that prompts show now."""
    return datetime.now(UTC).replace(second=0, microsecond=0)


def answer(body: dict[str, Any]) -> Reply:
    """A call of get_time where one is demanded, else an answer that fits every form."""
    if body.get("tool_choice") == "required":
        return Reply(tool_calls=(("get_time", {}),))
    return Reply('{"answer": "at nine"}')


async def test_what_is_shown_is_what_is_sent(tmp_path: Path) -> None:
    """In a new chat and a known one, by the running daemon and without it; nothing is written."""
    furnish(tmp_path)
    environ, messages = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}, 0
    async with (
        FakeBotApi(TOKEN) as bot,
        CallingModel(answer) as model,
        AnthropicApi(answer) as claude,
        running_daemon(tmp_path, configured(tmp_path, model, claude), bot, environ) as daemon,
    ):
        await daemon.until(lambda report: report.tool_servers[0].state == "connected")
        for live, kind in [*product((True, True, False), KINDS)]:
            began = None
            while began != minute():  # else another one began meanwhile, which the prompt shows
                began = minute()
                body = await shown(tmp_path, kind, live=live)
                real = await sent(bot, (model, claude), kind)
                messages += 1
            assert body == real.content, (kind, live)
            assert SEEN.get(kind, "You are ") in body.decode(), kind
        with reading_in(tmp_path) as db:
            assert db.execute("SELECT count(*) FROM inbox").get == messages
