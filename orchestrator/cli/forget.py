"""``orchestrator forget``: everything of a chat or an agent, gone."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.agentsfile import load
from orchestrator.cli._direct_journal import change
from orchestrator.cli._options import Home, command_group, settings
from orchestrator.control.protocol import FORGET, ErasureTarget
from orchestrator.errors import OrchestratorError
from orchestrator.journal.db.store import reading
from orchestrator.journal.upkeep import erasure
from orchestrator.journal.upkeep.erasure import Subject
from orchestrator.settings import Settings

ChatName = Annotated[str, typer.Argument(metavar="CHAT", help="Channel and id: telegram:123.")]
AgentName = Annotated[str, typer.Argument(metavar="AGENT", help="An agent that was removed.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
app = command_group()


@app.callback()
def _group() -> None:
    """Remove everything of a chat or of an agent."""


@app.command()
def chat(name: ChatName, *, yes: Yes = False, home: Home = None) -> None:
    """Remove what was said in a chat, what was learned there, its tasks and its pairing."""
    _forget(settings(home), chat_named(name), yes=yes)


@app.command()
def agent(name: AgentName, *, yes: Yes = False, home: Home = None) -> None:
    """Remove an agent's conversations, memory, tasks, costs and files."""
    where = settings(home)
    subject = Subject(agent=name)
    if any(found.agent_id == name for found in load(where.agents_file(), {}).file.agents):
        raise OrchestratorError(f"{subject} is in agents.json; take it out first")
    files = [path for path in _files(where, name) if path.exists()]
    _forget(where, subject, files, yes=yes)
    for path in files:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        typer.echo(f"removed {path}")


def chat_named(text: str) -> Subject:
    """A chat by channel and id.

    Raises:
        OrchestratorError: it has another form.
    """
    channel, _, chat_id = text.partition(":")
    if not chat_id:
        raise OrchestratorError(f"{text!r} names no chat; write its channel and id: telegram:123")
    return Subject(channel=channel, chat=chat_id)


def _files(where: Settings, agent_id: str) -> list[Path]:
    """What the home has of an agent; nothing of a name that is no agent's."""
    if Path(agent_id).name != agent_id or agent_id in (".", ".."):
        return []
    paths = where.paths
    return [paths.agent_prompts / f"{agent_id}.txt", paths.personas / agent_id]


def _forget(where: Settings, subject: Subject, files: Sequence[Path] = (), *, yes: bool) -> None:
    with reading(where.paths.journal) as db:
        found = erasure.count(db, subject)
    if not found and not files:
        raise OrchestratorError(f"there is nothing of {subject}")
    lines = [f"  {table} {rows}" for table, rows in found.items()]
    typer.echo("\n".join([f"{subject}:", *lines, *map(str, files)]))
    if not yes:
        typer.confirm("Remove all of it, for good?", abort=True)
    if found:
        params = ErasureTarget(agent=subject.agent, channel=subject.channel, chat=subject.chat)
        change(where, FORGET, params, erasure.forget, subject)
    typer.echo(f"{subject} is forgotten")
