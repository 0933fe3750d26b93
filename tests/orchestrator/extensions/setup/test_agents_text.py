"""agents.json is saved by its editor, or without one by hand."""

import json
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from fakes.set_up_home import SetUpHome
from pydantic import JsonValue

from orchestrator.config_problem import Problem
from orchestrator.control import editing
from orchestrator.control.editing import EditReport, FileText
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.setup.agents_text import MEANWHILE, AgentsText

VALID = json.dumps({"agents": [{"agentId": "a", "llmProvider": "demo"}]})


async def test_text_without_an_editor_is_in_force_at_once(tmp_path: Path) -> None:
    """The first one becomes the home's own, private to its user."""
    world = SetUpHome(tmp_path)
    text = AgentsText(await world.start())
    before = await text.read_text()
    assert '"assistant"' in before.text
    await text.save_text(VALID, before.base, "a test", "web:ann")
    assert world.get_agents_file().list_enabled_ids() == {"a"}
    assert (tmp_path / "agents.json").stat().st_mode & 0o777 == 0o600
    with pytest.raises(OrchestratorError, match="changed meanwhile"):
        await text.save_text(VALID, before.base, "a late one", "web:ann")


async def test_one_of_two_texts_that_are_saved_at_once_is_refused(tmp_path: Path) -> None:
    """Both began as the same one, so the second would undo the first unseen."""
    world = SetUpHome(tmp_path)
    text = AgentsText(await world.start())
    before = await text.read_text()
    refused: list[str] = []

    async def save(agent: str) -> None:
        wanted = VALID.replace('"a"', f'"{agent}"')
        try:
            await text.save_text(wanted, before.base, "a test", "web:ann")
        except OrchestratorError as error:
            refused.append(str(error))

    async with anyio.create_task_group() as tasks:
        for agent in ("b", "c"):
            tasks.start_soon(save, agent)
    assert refused == [MEANWHILE]


async def test_text_of_another_program_stays(tmp_path: Path) -> None:
    """It came after the look at the file, and before its change."""
    world = SetUpHome(tmp_path)
    daemon = await world.start()
    text, path = AgentsText(daemon), tmp_path / "agents.json"
    before, in_thread = await text.read_text(), world.machine.in_thread

    async def edit_first(function: Callable[..., None], *arguments: object) -> None:
        path.write_text(VALID, "utf-8")
        await in_thread(function, *arguments)

    world.machine.in_thread = edit_first
    with pytest.raises(OrchestratorError, match="changed meanwhile"):
        await text.save_text(VALID + "\n", before.base, "a test", "web:ann")
    assert world.text == VALID


async def test_invalid_text_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """Also where there was none, and the daemon has the bundled one."""
    world = SetUpHome(tmp_path)
    text = AgentsText(await world.start())
    before = await text.read_text()
    with pytest.raises(OrchestratorError, match="nothing was saved"):
        await text.save_text('{"agents": []}', before.base, "a test", "web:ann")
    assert not (tmp_path / "agents.json").exists()
    await text.save_text(VALID, before.base, "a test", "web:ann")
    with pytest.raises(OrchestratorError, match="nothing was saved"):
        await text.save_text("{", (await text.read_text()).base, "a test", "web:ann")
    assert world.text == VALID
    assert world.get_agents_file().list_enabled_ids() == {"a"}


async def test_editor_keeps_what_it_saves(tmp_path: Path) -> None:
    """Its conflicts and problems are told, and nothing is written beside it."""
    report = EditReport(name="agents.json", text="", base="1", saved=True)
    asked: list[JsonValue] = []

    async def read_text(_: JsonValue) -> FileText:
        return FileText(name="agents.json", text="{}", base="1")

    async def save_text(params: JsonValue) -> EditReport:
        asked.append(params)
        return report

    world = SetUpHome(tmp_path)
    text = AgentsText(await world.start())
    world.methods = {editing.FILE_READ: read_text, editing.FILE_SAVE: save_text}
    assert (await text.read_text()).text == "{}"
    await text.save_text(VALID, "1", "a test", "web:ann")
    (edit,) = asked
    assert isinstance(edit, dict)
    assert (edit["text"], edit["base"], edit["why"]) == (VALID, "1", "a test")
    report = report.model_copy(update={"saved": False, "conflict": True})
    with pytest.raises(OrchestratorError, match="changed meanwhile"):
        await text.save_text(VALID, "1", "a test", "web:ann")
    wrong = Problem("error", "agents.json", 3, None, "is odd")
    report = report.model_copy(update={"conflict": False, "problems": (wrong,)})
    with pytest.raises(OrchestratorError, match="3: is odd"):
        await text.save_text(VALID, "1", "a test", "web:ann")
    assert world.is_untouched
