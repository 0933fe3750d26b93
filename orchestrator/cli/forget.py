"""``orchestrator forget``: delete everything that is stored about a chat or an agent."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.agentsfile import load
from orchestrator.cli import _typed_messages
from orchestrator.cli._direct_journal import change
from orchestrator.cli._options import (
    ChatWords,
    Home,
    command_group,
    environment,
    load_settings,
    whole_chat,
)
from orchestrator.control.protocol import FORGET, ErasureTarget
from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.journal.opening import reading
from orchestrator.journal.upkeep import erasure
from orchestrator.journal.upkeep.erasure import Subject
from orchestrator.settings import Settings

AgentName = Annotated[
    str, typer.Argument(metavar="AGENT", help="Id of an agent that is not in agents.json any more.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Delete without asking.")]
app = command_group("forget")


@app.command()
def chat(name: ChatWords, *, yes: Yes = False, home: Home = None) -> None:
    """Delete a chat's messages, the facts learned in it, its tasks and its pairing."""
    settings, subject = load_settings(home), chat_subject(name)
    typed, chat_id = settings.paths.chat_history, subject.chat or ""
    found = subject.channel == "console" and _typed_messages.of_chat(typed, chat_id)
    _forget(settings, subject, [f"{typed}: {found} typed here"] if found else [], yes=yes)
    if found:
        _typed_messages.forget(typed, chat_id)


@app.command()
def agent(name: AgentName, *, yes: Yes = False, home: Home = None) -> None:
    """Delete an agent's conversations, memory, tasks, costs and files."""
    settings = load_settings(home)
    subject = Subject(agent=name)
    file = load(settings.agents_file(), environment(settings)).file
    if any(found.agent_id == name for found in file.agents):
        raise OrchestratorError(f"{subject} is in agents.json; remove it there first")
    files = [path for path in _files(settings, name) if path.exists()]
    _forget(settings, subject, files, yes=yes)
    for path in files:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        typer.echo(f"deleted {path}")


def chat_subject(words: Sequence[str]) -> Subject:
    """Return the chat that arguments name.

    Raises:
        BadParameter: they name none.
    """
    chat = whole_chat(words)
    return Subject(channel=chat.channel, chat=chat.chat_id)


def _files(settings: Settings, agent_id: str) -> list[Path]:
    """Return the paths of an agent's files in the home; none for a name that is not a file name."""
    if Path(agent_id).name != agent_id or agent_id in (".", ".."):
        return []
    paths = settings.paths
    return [paths.agent_prompts / f"{agent_id}.txt", paths.personas / agent_id]


def _forget(
    settings: Settings, subject: Subject, files: Sequence[Path | str] = (), *, yes: bool
) -> None:
    with reading(settings.journal) as db:
        found = erasure.count(db, subject)
    if not found and not files:
        raise UnknownNameError(f"nothing is stored about {subject}")
    lines = [f"  {table} {rows}" for table, rows in found.items()]
    typer.echo("\n".join([f"{subject}:", *lines, *map(str, files)]))
    if not yes:
        typer.confirm("Delete all of it for good?", abort=True)
    if found:
        params = ErasureTarget(agent=subject.agent, channel=subject.channel, chat=subject.chat)
        change(settings, FORGET, params, erasure.forget, subject)
    typer.echo(f"{subject}: deleted")
