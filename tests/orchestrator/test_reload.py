"""agents.json is watched: every way to write a file is heard, and nothing else is."""

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from orchestrator.reload import Configuration
from orchestrator.settings import Settings


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
    settings = Settings(home=tmp_path)
    settings.paths.prepare()
    file = tmp_path / "agents.json"
    rewrite(file, one_agent("a"))
    configuration = Configuration(settings, {})
    configuration.boot()
    heard = anyio.Event()

    async def on_change() -> None:
        if configuration.read():
            heard.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(configuration.watch, on_change, lambda: None)
        with anyio.fail_after(20):
            for number, way in enumerate(ways, 2):
                way(file, one_agent("a" * number))
                while configuration.file.agents[0].agent_id != "a" * number:
                    heard = anyio.Event()
                    await heard.wait()
        tasks.cancel_scope.cancel()
