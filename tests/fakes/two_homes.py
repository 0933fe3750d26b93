"""Two homes with a journal each; in the first one lives an agent that can move to the second."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fakes.journal import job
from fakes.lived import Life
from fakes.postgresql import POSTGRESQL, database_of

from orchestrator.extensions.relocation import move_plan
from orchestrator.extensions.relocation.homes import STORE, Home
from orchestrator.extensions.relocation.move_plan import MovePlan
from orchestrator.extensions.relocation.relocation import Relocation
from orchestrator.journal.db.database import Connection
from orchestrator.journal.opening import open_journal
from orchestrator.journal.turns import turns
from orchestrator.settings import Settings

ZEBRA, OTTER = "zebra", "otter"
CHAT, OTHER = "471147114711", "581258125812"
HERE = {
    "agents": [
        {"agentId": "home", "llmProvider": "demo"},
        {"agentId": "work", "llmProvider": "demo", "systemPrompt": "Be brief."},
    ],
    "bindings": [
        {"channel": "telegram", "chatId": "*", "agentId": "work"},
        {"channel": "console", "chatId": "office", "agentId": "work"},
        {"channel": "console", "chatId": "*", "agentId": "home"},
    ],
    "fallbackAgentId": "home",
}
THERE = {"agents": [{"agentId": "other", "llmProvider": "demo"}], "bindings": []}


def make_home(folder: Path, config: object, *, stored: bool = POSTGRESQL) -> Home:
    """A home without a daemon, whose journal is a file or a database of PostgreSQL."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if config is not None:
        (folder / "agents.json").write_text(json.dumps(config, indent=2))
    environ = {"ORCHESTRATOR_HOME": str(folder)}
    if stored:
        environ[STORE] = database_of(folder)
    return Home(Settings.read_environ(environ), environ)


@dataclass
class TwoHomes:
    """The agent `work` at ``here``, with a life behind it, and `other` at ``there``."""

    here: Home
    there: Home
    told: list[str] = field(default_factory=list)

    def live(self) -> None:
        """Give each home a history, with the same ids in both."""
        for home, agent, chat, mark in (
            (self.here, "work", CHAT, ZEBRA),
            (self.there, "other", OTHER, OTTER),
        ):
            self.change(home, lambda db, life=(agent, chat, mark): _begin(db, *life))  # type: ignore[misc]

    def change(self, home: Home, work: Callable[[Connection], object]) -> None:
        """Change a home's journal, as its daemon would."""
        db = open_journal(home.settings.journal)
        try:
            with job(db):
                work(db)
        finally:
            db.close()

    def read(self, home: Home, query: str) -> object:
        """Return what a query finds in a home's journal."""
        with home.read_journal() as db:
            return db.execute(query).get

    def journey(self) -> Relocation:
        """A move that waits for nothing."""
        return Relocation(self.here, self.there, "work", say=self.told.append, patience=0)

    def plan(self) -> MovePlan:
        """What the move would do."""
        known = self.journey().find_move()
        return move_plan.make_plan(self.here, self.there, "work", arriving=known is not None)

    def works(self, home: Home) -> bool:
        """Whether the agent would take a message at a home."""
        paused = "SELECT count(*) FROM pause WHERE agent_id = 'work' AND ended_at IS NULL"
        file = home.load_agents()
        return file.find_agent("work") is not None and not self.read(home, paused)


def _begin(db: Connection, agent: str, chat: str, mark: str) -> None:
    turns.boot(db, 0)
    Life(db, agent, chat, mark).live()
