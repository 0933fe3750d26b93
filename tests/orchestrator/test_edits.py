"""Edits of files, from the real kernel."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from orchestrator import edits as module
from orchestrator.edits import edits

Told = Callable[[Callable[[], object]], Awaitable[set[Path]]]


@asynccontextmanager
async def watching(*folders: Path, recursive: bool = False) -> AsyncIterator[Told]:
    """What is told of something that is done once the folders are watched."""
    found = edits(folders, recursive=recursive)

    async def told(act: Callable[[], object]) -> set[Path]:
        following = asyncio.ensure_future(anext(found))
        await anyio.lowlevel.checkpoint()
        act()
        return await following

    with anyio.fail_after(10):
        yield told
    await found.aclose()


async def test_edit_is_told_once_it_is_complete(tmp_path: Path) -> None:
    """Written in place, put in its place, or removed; a file that stays open is nobody's edit."""
    config, fresh = tmp_path / "agents.json", tmp_path / ".fresh"
    with (tmp_path / "journal.db-wal").open("wb", buffering=0) as journal:
        async with watching(tmp_path) as told:
            assert await told(lambda: (journal.write(b"x"), config.write_text("{}"))) == {config}
            assert await told(lambda: fresh.write_text("[]")) == {fresh}
            assert await told(lambda: (journal.write(b"x"), fresh.replace(config))) == {
                fresh,
                config,
            }
            assert await told(config.unlink) == {config}


async def test_new_folders_are_watched_where_that_is_wanted(tmp_path: Path) -> None:
    """A link that leads back is not followed for ever."""
    (tmp_path / "back").symlink_to(tmp_path)
    inner = tmp_path / "skill"
    async with watching(tmp_path, recursive=True) as told:
        assert await told(inner.mkdir) == {inner}
        assert await told(lambda: (inner / "SKILL.md").write_text("x")) == {inner / "SKILL.md"}


async def test_folder_that_comes_back_is_watched_again(tmp_path: Path) -> None:
    """Its parent is watched as well, and tells of it."""
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    async with watching(tmp_path, prompts) as told:
        assert prompts in await told(prompts.rmdir)
        assert await told(prompts.mkdir) == {prompts}
        assert await told(lambda: (prompts / "p.md").write_text("x")) == {prompts / "p.md"}


async def test_lost_events_are_taken_for_edits_of_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Better once too often than an edit that is never seen."""
    (tmp_path / "agents.json").touch()
    monkeypatch.setattr(module, "OVERFLOW", module.DELETE)
    (tmp_path / "x").touch()
    async with watching(tmp_path) as told:
        assert await told((tmp_path / "x").unlink) == {tmp_path / "agents.json"}


async def test_limit_of_the_kernel_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever watches has to say that nobody does."""
    monkeypatch.setattr(module, "ONLYDIR", 0)
    for name in ("ATTRIB", "CLOSE_WRITE", "MOVED", "CREATE", "DELETE"):
        monkeypatch.setattr(module, name, 0)
    with pytest.raises(OSError, match="Invalid argument"):
        await anext(edits([tmp_path], recursive=False))
