"""Edits on disk come into force, and are known to be untried until their gate is green."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.journal import store_in
from fakes.seed_prompt import write_skill
from fakes.set_up_home import SetUpHome

from orchestrator.extensions.workbench.gate_watch import GateWatch

SKILL = "---\nname: note\ndescription: A note.\n---\nSay it.\n"
GATED = {"agentId": "work", "llmProvider": "demo", "gate": {"set": "daily", "atMost": 0.1}}


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[SetUpHome]:
    """A home whose agent `work` has a gate and a skill."""
    write(tmp_path)
    write_skill(tmp_path, "note", SKILL)
    made = SetUpHome(tmp_path, store=store_in(tmp_path))
    await made.start()
    yield made
    made.store.close()


def write(home: Path, **changes: object) -> None:
    """Write agents.json as an editor does."""
    file = {"agents": [{**GATED, **changes}, {"agentId": "free", "llmProvider": "demo"}]}
    (home / "agents.json").write_text(json.dumps(file))


async def compared(home: SetUpHome, watch: GateWatch | None = None) -> dict[str, str]:
    """Which agents are untried, as a daemon knows that has just read its files."""
    await home.configuration.reread_files()
    found = watch or GateWatch(await home.start())
    await found.compare_agents()
    return found.untried


async def test_edit_on_disk_is_untried_until_it_is_undone_or_tried(home: SetUpHome) -> None:
    """Also after a restart; what is in force with a new gate counts as tried."""
    assert await compared(home) == {}
    write_skill(home.home, "note", SKILL.replace("Say it.", "Shout it."))
    assert await compared(home) == {"work": "daily"}
    write_skill(home.home, "note", SKILL)
    assert await compared(home) == {}
    write(home.home, temperature=0.1)
    watch = GateWatch(await home.start())
    assert await compared(home, watch) == {"work": "daily"}
    (hint,) = watch.list_hints()
    assert hint.startswith("agent 'work' has changed since its gate 'daily' was tried")
    await watch.mark_tried("work")
    assert await compared(home, watch) == {}
    assert await compared(home) == {}


async def test_text_that_its_gate_let_through_is_tried(home: SetUpHome) -> None:
    """Only the next one: what comes later needs a trial of its own."""
    watch = GateWatch(await home.start())
    await compared(home, watch)
    watch.let_through(["work"])
    write(home.home, temperature=0.2)
    assert await compared(home, watch) == {}
    write(home.home, temperature=0.3)
    assert await compared(home, watch) == {"work": "daily"}


async def test_other_changes_need_no_trial(home: SetUpHome) -> None:
    """A timeout, an agent without a gate, or the end of the gate itself."""
    await compared(home)
    write(home.home, idleTimeoutMinutes=7)
    assert await compared(home) == {}
    write(home.home, temperature=0.9, gate=None)
    assert await compared(home) == {}
