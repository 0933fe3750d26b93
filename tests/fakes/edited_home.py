"""A home whose files are edited, with a keeper of their versions and no daemon."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from orchestrator.agentsfile import AgentsFile, AgentsFileError, parse_agents_file
from orchestrator.control.editing import EditReport, FileEdit, FileName, UndoRequest, VersionName
from orchestrator.extensions.versions.file_kinds import ConfiguredHome, build_file_kinds
from orchestrator.extensions.versions.text_keeper import TextKeeper
from orchestrator.extensions.versions.version_files import VersionFiles
from orchestrator.files import run_off_loop
from orchestrator.settings import Settings

AGENTS = """{
  "agents": [
    { "agentId": "work", "llmProvider": "demo", "env": { "WIKI_TOKEN": "first-secret" } },
    { "agentId": "home", "llmProvider": "demo" }
  ],
  "bindings": [{ "channel": "console", "chatId": "*", "agentId": "work" }]
}
"""
SKILL = """---
name: morning-note
description: Says good morning.
metadata:
  keywords: [morning]
---
Say good morning in one sentence.
"""


@dataclass
class EditedHome:
    """A home at ``path`` with an agents.json; `keeper` starts anew with each restart.

    With ``dies``, the daemon dies once a file is written, until the next restart.
    """

    path: Path
    agents: str = AGENTS
    applied: int = 0
    dies: bool = False
    keeper: TextKeeper = field(init=False)
    _ticks: Iterator[int] = field(default_factory=lambda: count(1000), init=False)

    def __post_init__(self) -> None:
        self.settings = Settings(home=self.path)
        self.settings.paths.create_directories()
        (self.path / "agents.json").write_text(self.agents)
        self.restart()

    def restart(self) -> None:
        """Forget everything that is not in files."""
        self.dies = False
        home = ConfiguredHome(
            settings=self.settings,
            environ={},
            load_moves=self._load_moves,
            get_agents=self._load_agents,
            apply=self._apply,
            off_loop=run_off_loop,
            in_thread=run_off_loop,
        )
        self.kinds = build_file_kinds(home)
        self.keeper = TextKeeper(
            kinds=self.kinds,
            versions=VersionFiles(self.settings.paths.history),
            in_thread=run_off_loop,
            clock=lambda: next(self._ticks),
            find_note=home.find_note,
        )

    async def save(self, name: str, text: str | None, by: str = "web:anna") -> EditReport:
        """Save a text on the base of the present one."""
        base = (await self.keeper.read_text(VersionName(name=name))).base
        return await self.keeper.save_edit(FileEdit(name=name, base=base, text=text), by)

    async def undo(self, name: str = "", number: int | None = None) -> EditReport:
        """Undo a change as the operator."""
        return await self.keeper.undo_change(UndoRequest(name=name, number=number), "operator")

    async def read(self, name: str, number: int | None = None) -> str:
        """Return a text as it is shown."""
        return (await self.keeper.read_text(VersionName(name=name, number=number))).text

    async def list_authors(self, name: str) -> list[str]:
        """Return who made each version, newest first."""
        history = await self.keeper.load_history(FileName(name=name))
        return [version.by for version in history.versions]

    def find_path(self, report: EditReport) -> Path:
        """Return the file of a text."""
        return Path(report.where)

    async def notice(self) -> None:
        """Notice what was edited by other means."""
        await self.keeper.notice_changes(self.kinds)

    def _load_agents(self) -> AgentsFile:
        try:
            return parse_agents_file((self.path / "agents.json").read_bytes()).file
        except AgentsFileError:
            return AgentsFile.model_construct(agents=())

    async def _load_moves(self) -> Mapping[str, Mapping[str, str]]:
        return {}

    async def _apply(self) -> None:
        if self.dies:
            raise RuntimeError("the daemon died")
        self.applied += 1
