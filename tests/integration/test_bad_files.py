"""Nothing in the place of a file can stop a process: each is refused at once, and it is told."""

import os
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from fakes.bad_files import KINDS, bad
from fakes.definition_files import agents, library
from fakes.time_limit import time_limit
from structlog.testing import capture_logs

from orchestrator import keys_file
from orchestrator.agentsfile import AgentsFileError, load_agents_file
from orchestrator.configuration import Configuration
from orchestrator.errors import ConfigError
from orchestrator.extensions.hooks.worker.hooks import HookFiles
from orchestrator.extensions.http_api.token import TokenFile
from orchestrator.extensions.memory.worker.summarizing import load_template
from orchestrator.extensions.skills.bundled_files import read_bundled
from orchestrator.settings import Settings
from orchestrator.system.homelock import hold_lock
from orchestrator.tools.builtin.host_tool import ToolFailure
from thinker.formats import skill_file
from thinker.formats.own_files import OwnFiles
from thinker.formats.regular_file import MAX_ENTRIES, FileError
from thinker.prompt.base_prompt import BUILT_IN, choose_base_prompt
from thinker.protocol.env import ThinkerSettings
from thinker.skills import SkillCatalog

ONE = '{"agents": [{"agentId": "%s", "llmProvider": "demo"}]}'
Reader = Callable[[Path], str]  # reads the file at a path, and returns what is told about it


def agents_file(path: Path) -> str:
    """agents.json."""
    with pytest.raises(AgentsFileError) as refused:
        load_agents_file(path)
    return str(refused.value)


def skill(path: Path) -> str:
    """A SKILL.md, as the supervisor and the worker read it."""
    found, problems = skill_file.scan_skills((path.parent.parent,))
    catalog = SkillCatalog((path.parent.parent,))
    catalog.read(OwnFiles(()))
    told = tuple(map(str, problems))
    assert (found, catalog.problems) == ((), told)
    return "; ".join(told)


def bundled_file(path: Path) -> str:
    """A file beside a SKILL.md."""
    with pytest.raises(ToolFailure) as refused:
        read_bundled(path.parent, path.name)
    return str(refused.value)


def definition(path: Path) -> str:
    """A prompt definition; the agent that has it is told as well."""
    return "; ".join(map(str, library(path.parent.parent).current_set.problems))


def stored_definitions(path: Path) -> str:
    """The last good definitions, at a start."""
    with capture_logs() as logs:
        library(path.parent, agents())
    return " ".join(str(line["problem"]) for line in logs)


def base_prompt(path: Path) -> str:
    """The custom prompt, whose place the default takes."""
    chosen = choose_base_prompt(ThinkerSettings(system_prompt_path=path))
    assert chosen.text == BUILT_IN
    return "; ".join(chosen.warnings)


def persona(path: Path) -> str:
    """A persona file."""
    settings = ThinkerSettings(persona_dir=path.parent.parent, agent_id=path.parent.name)
    return "; ".join(choose_base_prompt(settings).warnings)


def summary_template(path: Path) -> str:
    """The template of summaries."""
    with capture_logs() as logs:
        assert load_template(path, "built in") == "built in"
    return " ".join(str(line["problem"]) for line in logs)


def hook(path: Path) -> str:
    """An operator's hook, in the worker."""
    with capture_logs() as logs:
        assert HookFiles(path.parent).load_hook(path.stem) == {}
    return " ".join(str(line["problem"]) for line in logs)


def token(path: Path) -> str:
    """The digest of the endpoints' token."""
    assert not TokenFile(path).accepts_token("guess")
    try:
        return str(TokenFile(path).load_digest())
    except FileError as error:
        return str(error)


def credential(path: Path) -> str:
    """The bot's token from systemd, without which the daemon starts all the same."""
    keys = keys_file.read_keys(path.parent / "home", {"CREDENTIALS_DIRECTORY": str(path.parent)})
    assert dict(keys.values) == {}
    return str(keys.problems[0].message)


def lock(path: Path) -> str:
    """The lock of the home."""
    with pytest.raises(ConfigError) as refused, hold_lock(Settings(home=path.parent)):
        pass
    return str(refused.value)


# Each reader, the place of its file, and the kinds that are good content there.
READERS: dict[Reader, tuple[str, frozenset[str]]] = {
    agents_file: ("agents.json", frozenset()),
    skill: ("skills/tea/SKILL.md", frozenset()),
    bundled_file: ("skills/tea/notes.md", frozenset({"deep"})),
    definition: ("prompts/p.json", frozenset()),
    stored_definitions: ("prompts.last-good.json", frozenset()),
    base_prompt: ("agent-prompts/work.txt", frozenset({"deep"})),
    persona: ("agents/work/instructions.md", frozenset({"deep"})),
    summary_template: ("prompts/compaction.md", frozenset()),
    hook: ("hooks/h.py", frozenset()),
    token: ("api-token", frozenset()),
    credential: ("telegram-token", frozenset()),
    lock: ("lock", frozenset({"large", "binary", "NUL", "deep", "dangling"})),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_unusable_file_is_refused_at_once_and_told(
    tmp_path: Path, reader: Reader, kind: str
) -> None:
    """A pipe without a writer, a device without end and all the others: in every place."""
    place, good = READERS[reader]
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind in good:
        pytest.skip("this is good content here")
    with bad(kind, path):
        assert reader(path)


@pytest.mark.parametrize("kind", ["pipe", "circle", "dangling", "device", "large", "socket"])
def test_unusable_folder_is_told(tmp_path: Path, kind: str) -> None:
    """A folder of skills, prompts or hooks; what is good elsewhere stays usable."""
    for name in ("skills", "prompts", "hooks"):
        with bad(kind, tmp_path / name):
            pass
    _, problems = skill_file.scan_skills((tmp_path / "skills",))
    found = library(tmp_path, agents(hooks=["h"]))
    told = {problem.file for problem in found.current_set.problems}
    assert problems
    assert {str(tmp_path / "prompts"), str(tmp_path / "hooks")} <= told
    assert "coordinator" in found.current_set.definitions


def test_folder_with_too_many_entries_leaves_out_the_rest(tmp_path: Path) -> None:
    """Looking through all would slow every turn; those beyond the limit are named."""
    for number in range(MAX_ENTRIES + 12):
        (tmp_path / f"s{number:05}").mkdir()
    (tmp_path / "s00000" / "SKILL.md").write_text("---\nname: s00000\ndescription: d\n---\nb")
    (found,), problems = skill_file.scan_skills((tmp_path,))
    (problem,) = map(str, problems)
    assert found.name == "s00000"
    assert problem == (
        f"{tmp_path}: more than {MAX_ENTRIES} entries, so these are left out: s01000, s01001,"
        " s01002, s01003, s01004, s01005, s01006, s01007, s01008, s01009 and 2 more;"
        " move some elsewhere"
    )


def test_prompts_beyond_the_limit_are_left_out_by_name(tmp_path: Path) -> None:
    """The first ones stay usable."""
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    for number in range(MAX_ENTRIES + 1):
        (prompts / f"p{number:05}.txt").touch()
    (prompts / "a.md").write_text(
        "---\ntoolDescription: d\nmodel: inherit\nincludeChat: true\n---\nhello"
    )
    found = library(tmp_path, agents())
    assert "a" in found.current_set.definitions
    (told,) = [str(one) for one in found.current_set.problems if "left out" in str(one)]
    assert "left out: p00999.txt, p01000.txt; move some elsewhere" in told


@pytest.mark.parametrize("kind", KINDS)
async def test_last_good_configuration_stays_in_force_whatever_takes_its_place(
    tmp_path: Path, kind: str
) -> None:
    """At a reload and at a start; the problem is told, and the next good file is used."""
    path = tmp_path / "agents.json"
    path.write_text(ONE % "a", "utf-8")
    configuration = Configuration(Settings(home=tmp_path), {})
    await configuration.read_at_start()
    with bad(kind, path):
        assert not await configuration.reread_files()
        assert configuration.problems
        assert configuration.file.list_enabled_ids() == {"a"}
        again = Configuration(Settings(home=tmp_path), {})
        await again.read_at_start()
        assert again.fallen_back
        assert again.file.list_enabled_ids() == {"a"}
    fresh = tmp_path / "fresh"
    fresh.write_text(ONE % "b", "utf-8")
    if kind == "directory":
        path.rmdir()
    fresh.replace(path)
    assert await configuration.reread_files()
    assert configuration.file.list_enabled_ids() == {"b"}


@pytest.mark.parametrize("kind", ["pipe", "device", "circle", "dangling", "directory"])
async def test_watch_outlives_whatever_takes_the_places_of_files(tmp_path: Path, kind: str) -> None:
    """Edits are noticed again as soon as good files are back."""
    settings = Settings(home=tmp_path)
    settings.paths.create_directories()
    path = tmp_path / "agents.json"
    path.write_text(ONE % "a", "utf-8")
    configuration = Configuration(settings, {})
    await configuration.read_at_start()
    changes = [anyio.Event() for _ in range(2)]
    skills = anyio.Event()

    async def on_change() -> None:
        good = await configuration.reread_files()
        changes[good].set()

    def on_skill() -> None:
        if any("tea" in problem.file for problem in configuration.problems):
            skills.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(configuration.watch_files, on_change, on_skill)
        with time_limit(), bad(kind, path):
            await changes[False].wait()
            (tmp_path / "skills" / "tea").mkdir()
            with bad(kind, tmp_path / "skills" / "tea" / "SKILL.md"):
                await skills.wait()
        with time_limit():
            if kind == "directory":
                path.rmdir()
            (tmp_path / "fresh").write_text(ONE % "b", "utf-8")
            (tmp_path / "fresh").replace(path)
            while configuration.file.list_enabled_ids() != {"b"}:
                await changes[True].wait()
                changes[True] = anyio.Event()
        tasks.cancel_scope.cancel()


async def test_file_system_that_does_not_answer_leaves_what_is_in_force(tmp_path: Path) -> None:
    """It is told; what could be read before stays, and the wait ends."""

    async def hanging(function: Callable[..., object], *arguments: object) -> object:
        if hangs:
            raise TimeoutError("no answer in 10 seconds")
        return function(*arguments)

    hangs = False
    (tmp_path / "agents.json").write_text(ONE % "a", "utf-8")
    configuration = Configuration(Settings(home=tmp_path), {}, off_loop=hanging)  # type: ignore[arg-type]
    await configuration.read_at_start()
    hangs = True
    assert not await configuration.reread_files()
    assert configuration.file.list_enabled_ids() == {"a"}
    assert "no answer" in str(configuration.problems[0])
    assert "no answer" in str(configuration.prompts.current_set.problems[0])
    assert "coordinator" in configuration.prompts.current_set.definitions


async def test_hook_that_fails_is_told_without_opening_its_file_again(tmp_path: Path) -> None:
    """A traceback shows lines of the file, in whose place a pipe may stand by then."""
    path = tmp_path / "h.py"
    path.write_text("def tool_call_started(state, call):\n    raise ValueError('told')\n", "utf-8")
    function = HookFiles(tmp_path).load_hook("h")["tool_call_started"]
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ValueError, match="told") as caught:
        function(None, None)
    assert "raise ValueError('told')" in str(caught.getrepr(style="native"))
