"""`orchestrator prompt show`, with a real worker and without a daemon."""

import json
import re
from contextlib import closing
from pathlib import Path

import pytest
from fakes.control_server import command
from fakes.journal import connection_in, read_contents
from fakes.memory import WORK
from fakes.postgresql import sqlite_only
from fakes.statements import store_fact
from typer.testing import Result

from orchestrator.channel_api import InboundMessage
from orchestrator.errors import ExitCode
from orchestrator.journal.turns import inbox, sessions
from orchestrator.journal.turns.inbox import Arrival

HEADING = re.compile(r"── (\w+) · (\d+) chars · ~(\d+) tokens(?: · without a daemon)? ──\n")
SKILL = """\
---
name: tea
description: How to make tea.
metadata:
  keywords: [tea]
---
Boil water.
"""


def write(home: Path, **fields: object) -> None:
    """An agents.json with one agent whose key is not set."""
    agent = {"agentId": "work", "llmProvider": "openai", "model": "m", "systemPrompt": "Be brief."}
    more = {"timezone": "Europe/Berlin", "fallbackModels": ["groq/x"]}
    (home / "agents.json").write_text(json.dumps({"agents": [agent | more | fields]}), "utf-8")


def show(home: Path, *arguments: str) -> Result:
    """`prompt show` of that agent."""
    return command(home, "prompt", "show", "work", *arguments)


def parts(text: str) -> dict[str, str]:
    """The layers below their headings, after checking the sizes in these."""
    _, *found = HEADING.split(text)
    layers = {}
    for name, chars, tokens, body in zip(*(found[i::4] for i in range(4)), strict=True):
        if name == "total":
            continue
        layers[name] = body.removesuffix("\n")
        assert len(layers[name]) == int(chars)
        assert -(-int(chars) // 4) == int(tokens)
    return layers


@pytest.mark.process
def test_layers_are_printed_in_order_with_their_exact_text_and_size(tmp_path: Path) -> None:
    """No key, no daemon, no journal: nothing of it is needed."""
    write(tmp_path)
    skill = tmp_path / "skills" / "tea" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL, "utf-8")
    shown = show(tmp_path, "--message", "tea please", "--chat", "c-7")
    layers = parts(shown.stdout)
    assert shown.exit_code == 0, shown.stderr
    assert list(layers) == ["base", "playbooks", "skills", "date_time", "chat"]
    assert layers["base"] == "Be brief."
    assert layers["playbooks"].endswith("### Playbook: tea\nBoil water.")
    assert layers["date_time"].endswith("(Europe/Berlin)")
    assert layers["chat"] == "## Current Chat\nchat_id: c-7"
    total = len("\n\n".join(layers.values()))
    assert f"── total · {total} chars · " in shown.stdout
    assert re.fullmatch(r"── tools · (\w+, )+get_time, .+ ──", shown.stdout.splitlines()[-1])


@pytest.mark.process
def test_nothing_is_left_behind_in_the_home(tmp_path: Path) -> None:
    """Above all not the prompt file that a running daemon's worker reads."""
    write(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert show(tmp_path, "--message", "hi").exit_code == 0
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.process
def test_what_the_journal_knows_is_in_the_prompt_and_the_journal_is_only_read(
    tmp_path: Path,
) -> None:
    """Facts, profile and summary of the chat, while the file is open elsewhere."""
    write(tmp_path, deniedTools=["send_*"], memory="agent")
    db = connection_in(tmp_path)
    store_fact(db, WORK, "User likes tea", "preference", "test", 1)
    profile = json.dumps({"persona": {"system_prompt": "You are Ada."}})
    db.execute("INSERT INTO profile(agent_id, body, updated_at) VALUES('work', ?, 1)", (profile,))
    message = InboundMessage("telegram", "bot", "5", "1", "5", text="hi", target="work")
    inbox.ingest(db, [Arrival(message)], None, 1)
    db.execute("UPDATE inbox SET agent_id = 'work'")
    key = inbox.build_chat_key("telegram", "bot", "5", None)
    session = sessions.open_session(db, "work", key, 1)
    db.execute("UPDATE session SET summary = 'They met.' WHERE id = ?", (session,))
    place = ("--channel", "telegram", "--chat")
    before = read_contents(db)
    known = show(tmp_path, "--message", "tea", *place, "5", "--json")
    other = show(tmp_path, "--message", "coffee", *place, "6", "--json")
    assert read_contents(db) == before
    db.close()
    report = json.loads(known.stdout)
    layers = {layer["name"]: layer["text"] for layer in report["layers"]}
    assert layers["base"] == "You are Ada."
    assert layers["summary"].endswith("They met.")
    assert layers["card"].endswith("- User likes tea (preference)")
    assert "send_message" not in report["tools"]
    names = {one["name"] for one in json.loads(other.stdout)["layers"]}
    assert ("card" in names, "summary" in names) == (True, False)


@pytest.mark.process
@pytest.mark.parametrize(("provenance", "layer"), [("on", "quoted"), ("off", "summary")])
def test_summary_of_what_others_wrote_is_shown_where_a_turn_has_it(
    tmp_path: Path, provenance: str, layer: str
) -> None:
    """Quoted in the newest message, unless the agent does not tell whose words it reads."""
    write(tmp_path, provenance=provenance)
    with closing(connection_in(tmp_path)) as db:
        message = InboundMessage("telegram", "bot", "5", "1", "5", text="hi", target="work")
        inbox.ingest(db, [Arrival(message)], None, 1)
        db.execute("UPDATE inbox SET agent_id = 'work'")
        sessions.open_session(db, "work", inbox.build_chat_key("telegram", "bot", "5", None), 1)
        db.execute("UPDATE session SET summary = 'A page spoke.', summary_origin = 'web'")
        shown = show(tmp_path, "--message", "hi", "--channel", "telegram", "--chat", "5", "--json")
    layers = json.loads(shown.stdout)["layers"]
    assert [one["name"] for one in layers if "A page spoke." in one["text"]] == [layer]


def test_unknown_agent_is_exit_64(tmp_path: Path) -> None:
    """With the file in which it was looked for."""
    write(tmp_path)
    refused = command(tmp_path, "prompt", "show", "nobody", "--message", "hi")
    assert refused.exit_code == ExitCode.USAGE
    assert refused.stderr.startswith(f"{tmp_path / 'agents.json'}: unknown agent 'nobody'")


@sqlite_only
def test_journal_that_cannot_be_read_is_exit_74(tmp_path: Path) -> None:
    """It is no database."""
    write(tmp_path)
    (tmp_path / "journal.db").write_bytes(b"nonsense" * 100)
    refused = show(tmp_path, "--message", "tea")
    assert refused.exit_code == ExitCode.IO
    assert "journal.db: the journal cannot be read" in refused.stderr


@pytest.mark.process
def test_worker_that_cannot_start_is_an_error_without_a_traceback(tmp_path: Path) -> None:
    """A key that no header can carry; the worker's own message says so."""
    write(tmp_path, env={"OPENAI_API_KEY": "a b"})
    refused = show(tmp_path, "--message", "tea")
    assert refused.exit_code == ExitCode.FAILED
    assert "agent 'work' ended during start-up" in refused.stderr


def test_layout_that_an_agents_prompt_has_not_is_refused(tmp_path: Path) -> None:
    """A definition has more of them."""
    write(tmp_path)
    refused = show(tmp_path, "--message", "tea", "--layout", "plain")
    assert refused.exit_code == 2
    assert "'plain' is not a layout of an agent's prompt; use markdown or request" in refused.stderr


@pytest.mark.process
def test_request_is_printed_as_it_would_be_sent(tmp_path: Path) -> None:
    """No key is needed; without a message a greeting stands for it, in any notation of the chat."""
    write(tmp_path)
    words = ("--layout", "request", "--chat", "telegram:7")
    body = json.loads(show(tmp_path, *words).stdout)
    assert body["model"] == "m"
    assert body["messages"][0]["content"].endswith("chat_id: 7")
    assert body["messages"][1] == {"role": "user", "content": "Hello"}
    write(tmp_path, llmProvider="demo")
    refused = show(tmp_path, *words)
    assert refused.exit_code == ExitCode.FAILED
    assert "agent 'work' would send no request" in refused.stderr
