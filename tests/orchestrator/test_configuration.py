"""agents.json is watched: every way to write a file is heard, and nothing else is."""

import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from fakes.time_limit import time_limit
from pydantic import SecretStr
from structlog.testing import capture_logs
from structlog.typing import EventDict
from watchfiles import Change, awatch

from orchestrator.configuration import Configuration
from orchestrator.errors import ConfigError
from orchestrator.home_paths import find_bundled_path
from orchestrator.processes.launch import LaunchSpec
from orchestrator.processes.supervisor import Supervisor
from orchestrator.settings import Settings
from orchestrator.tools.remote_tools import NoRemoteTools
from orchestrator.watching import FileWatch


def rewrite(file: Path, text: str) -> None:
    """As the shell does."""
    file.write_text(text, "utf-8")


def replace(file: Path, text: str) -> None:
    """As most programs do, and all that fear a crash."""
    rewrite(file.with_suffix(".new"), text)
    file.with_suffix(".new").replace(file)


def begin_anew(file: Path, text: str) -> None:
    """As editors do that keep a backup."""
    file.rename(file.with_suffix(".bak"))
    rewrite(file, text)


def turn_link(file: Path, text: str) -> None:
    """As it is done with the files of a release: the name stays, what it means does not."""
    rewrite(file.with_suffix(f".{len(text)}"), text)
    link = file.with_suffix(".link")
    link.symlink_to(file.with_suffix(f".{len(text)}"))
    link.replace(file)


def one_agent(agent_id: str) -> str:
    """The text of a file with this agent."""
    return f'{{"agents": [{{"agentId": "{agent_id}", "llmProvider": "demo"}}]}}'


@asynccontextmanager
async def watched(
    home: Path, watch: FileWatch = awatch
) -> AsyncIterator[tuple[Path, Callable[[str], Awaitable[None]]]]:
    """agents.json with the agent ``a`` being watched; a wait until it has another agent."""
    settings = Settings(home=home)
    settings.paths.create_directories()
    file = home / "agents.json"
    rewrite(file, one_agent("a"))
    configuration = Configuration(settings, {}, watch=watch)
    await configuration.read_at_start()
    heard = anyio.Event()

    async def on_change() -> None:
        if await configuration.reread_files():
            heard.set()

    async def agent_is(agent_id: str) -> None:
        nonlocal heard
        while configuration.file.agents[0].agent_id != agent_id:
            heard = anyio.Event()
            await heard.wait()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(configuration.watch_files, on_change, lambda: None)
        with time_limit():
            yield file, agent_is
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    "ways",
    [
        (rewrite, rewrite, replace, rewrite),
        (replace, replace, begin_anew, replace),
        (begin_anew, begin_anew, turn_link, turn_link, rewrite, replace),
    ],
)
async def test_an_edit_is_heard_however_the_file_is_written(
    tmp_path: Path, ways: tuple[Callable[[Path, str], None], ...]
) -> None:
    """Also the next one, of the file that took the place of the watched one."""
    async with watched(tmp_path) as (file, agent_is):
        for number, way in enumerate(ways, 2):
            way(file, one_agent("a" * number))
            await agent_is("a" * number)


@pytest.mark.parametrize("store", [None, SecretStr("postgresql://x/y")])
async def test_first_file_of_a_home_is_heard(tmp_path: Path, store: SecretStr | None) -> None:
    """A person or a push brings it while the bundled one is in use; so is an edit of it."""
    settings = Settings(home=tmp_path, store=store)
    settings.paths.create_directories()
    configuration = Configuration(settings, {})
    await configuration.read_at_start()
    assert configuration.path == find_bundled_path("config") / "agents.json"
    heard, wait = list[str](), anyio.Event()

    async def on_change() -> None:
        nonlocal wait
        await configuration.reread_files()
        heard.append(configuration.file.agents[0].agent_id)
        wait.set()
        wait = anyio.Event()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(configuration.watch_files, on_change, lambda: None)
        with time_limit():
            for name in ("first", "second"):
                replace(tmp_path / "agents.json", one_agent(name))
                while heard[-1:] != [name]:
                    await wait.wait()
        tasks.cancel_scope.cancel()
    assert configuration.path == tmp_path / "agents.json"


async def test_mode_that_is_set_to_what_it_was_is_no_edit(tmp_path: Path) -> None:
    """The probes of `doctor` do that; the edit after it is heard."""
    reports = list[Path]()

    async def awatch_touched(*places: Path, **options: Any) -> AsyncGenerator[Any]:
        file = tmp_path / "agents.json"
        if file in places and not reports:
            reports.append(file)
            file.chmod(file.stat().st_mode)
            yield {(Change.modified, str(file))}
            return
        async for changes in awatch(*places, **options):
            yield changes

    settings = Settings(home=tmp_path)
    settings.paths.create_directories()
    file = tmp_path / "agents.json"
    rewrite(file, one_agent("a"))
    configuration = Configuration(settings, {}, watch=awatch_touched)
    await configuration.read_at_start()
    texts, heard = list[str](), anyio.Event()

    async def on_change() -> None:
        texts.append(file.read_text("utf-8"))
        heard.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(configuration.watch_files, on_change, lambda: None)
        with time_limit():
            while not reports:
                await anyio.lowlevel.checkpoint()
            rewrite(file, one_agent("bb"))
            await heard.wait()
        tasks.cancel_scope.cancel()
    assert texts[0] == one_agent("bb")


async def test_file_that_is_just_being_replaced_as_the_watch_begins_is_watched(
    tmp_path: Path,
) -> None:
    """It was there when it was looked for, was away a moment later, and is there again."""
    begun: list[Path] = []

    async def awatch_late(*places: Path, **options: Any) -> AsyncGenerator[set[tuple[Change, str]]]:
        file = tmp_path / "agents.json"
        if file in places and not begun:
            file.unlink()
            begun.append(file)
        try:
            async for changes in awatch(*places, **options):
                yield changes
        finally:
            if not file.exists():
                rewrite(file, one_agent("bb"))

    async with watched(tmp_path, awatch_late) as (file, agent_is):
        await agent_is("bb")
        rewrite(file, one_agent("ccc"))
        await agent_is("ccc")


async def test_name_that_is_not_utf8_ends_no_watch(tmp_path: Path) -> None:
    """The library refuses such a name; edits are heard again after a moment."""
    folder = tmp_path / "skills" / "odd"
    folder.mkdir(parents=True)
    async with watched(tmp_path) as (file, agent_is):
        rewrite(file, one_agent("bb"))
        await agent_is("bb")
        (folder / os.fsdecode(b"caf\xe9")).touch()
        rewrite(file, one_agent("ccc"))
        await agent_is("ccc")


async def test_error_of_the_edited_file_is_told_when_its_copy_is_broken_too(tmp_path: Path) -> None:
    """The copy is not what people edit: an empty one changes nothing in the message."""
    (tmp_path / "agents.json").write_text("{ agents: ]", "utf-8")
    settings = Settings(home=tmp_path)
    settings.paths.last_good.write_bytes(b"")
    with pytest.raises(ConfigError, match=r"agents\.json"):
        await Configuration(settings, {}).read_at_start()
    settings.paths.last_good.unlink()
    (tmp_path / "agents.json").write_text(one_agent("a"), "utf-8")
    found = Configuration(settings, {})
    await found.read_at_start()
    assert not found.fallen_back


async def test_problem_is_logged_when_it_begins_or_changes(tmp_path: Path) -> None:
    """Those of agents.json, its agents' prompts and skills stand in one list, with their lines."""
    skill = tmp_path / "skills" / "tea" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    rewrite(skill, "no front matter")
    agent = '{"agentId": "a",\n"llmProvider": "demo",\n"prompt": "none"}'
    binding = '{"channel": "consol", "chatId": "1", "agentId": "a"}'
    rewrite(tmp_path / "agents.json", f'{{"bindings": [{binding}], "agents": [{agent}]}}')
    configuration = Configuration(Settings(home=tmp_path), {})

    def heard(logged: list[EventDict]) -> list[str]:
        return [entry["problem"].split(": ")[0] for entry in logged if "problem" in entry]

    with capture_logs() as logged:
        await configuration.read_at_start()
    first = ["agents.json:1", "agents.json:3", f"{skill}:1"]
    assert heard(logged) == first
    rewrite(skill, "---\nname: tea\n---\n")
    with capture_logs() as logged:
        await configuration.reread_files()
    assert [text.partition(": ")[0] for text in map(str, configuration.problems)][:2] == first[:2]
    assert heard(logged) == [f"{skill}:2"]
    assert configuration.find_field_place("a", "prompt") == "agents.json:3"
    assert configuration.find_field_place("b", "prompt") == "agents.json"


async def test_edit_of_the_keys_applies_to_a_running_daemon(tmp_path: Path) -> None:
    """A key that is set, replaced and removed; a variable of the environment stays what it was."""
    environ = {"OPENAI_API_KEY": "mine"}
    settings = Settings(home=tmp_path)
    rewrite(tmp_path / "agents.json", one_agent("a"))
    configuration = Configuration(settings, environ)
    steps = ("GROQ_API_KEY=a\nOPENAI_API_KEY=b", "a"), ("GROQ_API_KEY=c", "c"), ("", "")
    for text, groq in steps:
        rewrite(settings.paths.keys, text)
        assert await configuration.reread_files()
        assert environ.get("GROQ_API_KEY", "") == groq
        assert environ["OPENAI_API_KEY"] == "mine"


async def test_edit_of_the_keys_is_heard(tmp_path: Path) -> None:
    """As that of agents.json is."""
    settings = Settings(home=tmp_path)
    settings.paths.create_directories()
    rewrite(tmp_path / "agents.json", one_agent("a"))
    rewrite(settings.paths.keys, "")
    environ: dict[str, str] = {}
    configuration = Configuration(settings, environ)
    await configuration.read_at_start()
    heard = anyio.Event()

    async def on_change() -> None:
        await configuration.reread_files()
        heard.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(configuration.watch_files, on_change, lambda: None)
        with time_limit():
            while "GROQ_API_KEY" not in environ:
                rewrite(settings.paths.keys, "GROQ_API_KEY=a")
                await heard.wait()
                heard = anyio.Event()
        tasks.cancel_scope.cancel()


async def test_problems_of_the_keys_are_among_those_of_the_configuration(tmp_path: Path) -> None:
    """So `status` shows them, with the line."""
    rewrite(tmp_path / "agents.json", one_agent("a"))
    settings = Settings(home=tmp_path)
    rewrite(settings.paths.keys, "canary\nTELEGRAM_BOT_TOKEN=1:canary")
    settings.paths.keys.chmod(0o600)
    configuration = Configuration(settings, {})
    await configuration.read_at_start()
    wrong, *_ = configuration.problems
    assert (wrong.severity, wrong.line) == ("error", 1)
    assert "canary" not in f"{wrong}"


async def test_edit_of_a_prompt_is_put_in_force_without_the_rest(tmp_path: Path) -> None:
    """Unless other files have changed as well: then everything is read."""
    settings = Settings(home=tmp_path)
    settings.paths.create_directories()
    agent = '{"agentId": "a", "llmProvider": "demo", "systemPrompt": "Be %s."}'
    rewrite(tmp_path / "agents.json", f'{{"agents": [{agent % "kind"}]}}')
    configuration = Configuration(settings, {})
    await configuration.read_at_start()
    rewrite(tmp_path / "agents.json", f'{{"agents": [{agent % "brief"}]}}')
    edit = await configuration.read_prompt_edit()
    assert edit is not None
    assert edit.prompt == "Be brief."
    assert configuration.file.agents[0].system_prompt == "Be brief."
    assert "brief" in settings.paths.last_good.read_text("utf-8")
    rewrite(tmp_path / "agents.json", f'{{"agents": [{agent % "both"}]}}')
    rewrite(settings.paths.prompts / "other.md", "Be wise.")
    assert await configuration.read_prompt_edit() is None
    assert await configuration.reread_files()
    assert configuration.file.agents[0].system_prompt == "Be both."


async def test_reload_defines_only_agents_that_changed(tmp_path: Path) -> None:
    """The others keep the spec that they have; a new key or template concerns all of them."""
    settings, environ = Settings(home=tmp_path), {"OPENAI_API_KEY": "one"}
    settings.paths.create_directories()
    names = [f"agent-{number}" for number in range(120)]

    def write(steps: int) -> None:
        common = {"llmProvider": "openai", "model": "m"}
        agents: list[dict[str, object]] = [{"agentId": name, **common} for name in names]
        agents[-1]["maxSteps"] = steps
        rewrite(tmp_path / "agents.json", json.dumps({"agents": agents}))

    write(3)
    configuration = Configuration(settings, environ)
    await configuration.read_at_start()
    async with anyio.create_task_group() as tasks:
        supervisor = Supervisor(tasks)

        async def list_specs() -> list[LaunchSpec]:
            await configuration.apply_to_processes(supervisor, NoRemoteTools())
            return [supervisor.slots[name].spec for name in names]

        first = await list_specs()
        write(4)
        assert await configuration.reread_files()
        second = await list_specs()
        assert [old is new for old, new in zip(first, second, strict=True)] == [True] * 119 + [
            False
        ]
        assert second[-1].settings.max_steps == 4
        environ["OPENAI_API_KEY"] = "two"
        third = await list_specs()
        assert {grant.secrets for spec in third for grant in spec.grants} == {("two",)}


async def test_prompt_is_taken_back_with_another_change(tmp_path: Path) -> None:
    """The earlier definition is known, but it is not in force any more."""
    settings = Settings(home=tmp_path)
    settings.paths.create_directories()

    def write(prompt: str, steps: int = 3) -> None:
        agents: list[dict[str, object]] = [
            {"agentId": "a", "llmProvider": "demo", "systemPrompt": prompt},
            {"agentId": "b", "llmProvider": "demo", "maxSteps": steps},
        ]
        rewrite(tmp_path / "agents.json", json.dumps({"agents": agents}, indent=1))

    write("Be kind.")
    configuration = Configuration(settings, {})
    await configuration.read_at_start()
    async with anyio.create_task_group() as tasks:
        supervisor = Supervisor(tasks)
        await configuration.apply_to_processes(supervisor, NoRemoteTools())
        kind = supervisor.slots["a"].spec
        write("Be brief.")
        edit = await configuration.read_prompt_edit()
        assert edit is not None
        supervisor.replace_prompt(edit.agent_id, edit.prompt)
        assert supervisor.slots["a"].spec != kind
        write("Be kind.", steps=4)
        assert await configuration.reread_files()
        await configuration.apply_to_processes(supervisor, NoRemoteTools())
        assert supervisor.slots["a"].spec == kind


async def test_agent_of_the_same_text_is_the_same_object(tmp_path: Path) -> None:
    """Also after an edit of its prompt was taken back, which was read without the rest."""
    settings = Settings(home=tmp_path)
    settings.paths.create_directories()
    agent = '{"agentId": "a", "llmProvider": "demo", "systemPrompt": "Be %s."}'
    texts = [f'{{"agents": [{agent % word}]}}' for word in ("kind", "brief")]
    rewrite(tmp_path / "agents.json", texts[0])
    configuration = Configuration(settings, {})
    await configuration.read_at_start()
    before = configuration.file.agents[0]
    assert await configuration.reread_files()
    assert configuration.file.agents[0] is before
    rewrite(tmp_path / "agents.json", texts[1])
    assert await configuration.read_prompt_edit() is not None
    rewrite(tmp_path / "agents.json", texts[0])
    assert await configuration.reread_files()
    assert configuration.file.agents[0].system_prompt == "Be kind."
    rewrite(tmp_path / "agents.json", texts[1])
    assert await configuration.reread_files()
    assert configuration.file.agents[0].system_prompt == "Be brief."
