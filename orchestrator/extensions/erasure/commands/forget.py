"""``orchestrator forget``: delete all stored data of a chat or an agent."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli import typed_messages
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.direct_journal import change_journal
from orchestrator.cli.options import (
    ChatWords,
    Home,
    load_agents,
    load_settings,
    parse_whole_chat,
)
from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extensions.erasure import erasure
from orchestrator.extensions.erasure.erasure import Subject
from orchestrator.extensions.erasure.erasure_part import FORGET, ErasureTarget
from orchestrator.journal.opening import open_for_reading
from orchestrator.settings import Settings

AgentName = Annotated[
    str, typer.Argument(metavar="AGENT", help="Id of an agent that is no longer in agents.json.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Delete without asking.")]
app = make_command_group("forget")


@app.command()
def chat(name: ChatWords, *, yes: Yes = False, home: Home = None) -> None:
    """Delete a chat's messages, the facts learned in it, its tasks and its pairing."""
    settings, subject = load_settings(home), parse_subject(name)
    typed, chat_id = settings.paths.chat_history, subject.chat or ""
    found = subject.channel == "console" and typed_messages.count_messages(typed, chat_id)
    _forget_subject(settings, subject, [f"{typed}: {found} typed here"] if found else [], yes=yes)
    if found:
        typed_messages.delete_messages(typed, chat_id)


@app.command()
def agent(name: AgentName, *, yes: Yes = False, home: Home = None) -> None:
    """Delete an agent's conversations, memory, tasks, costs and files."""
    settings = load_settings(home)
    subject = Subject(agent=name)
    file = load_agents(settings)
    if any(found.agent_id == name for found in file.agents):
        raise OrchestratorError(f"{subject} is in agents.json; remove it there first")
    files = [path for path in _list_agent_files(settings, name) if path.exists()]
    _forget_subject(settings, subject, files, yes=yes)
    for path in files:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        typer.echo(f"deleted {path}")


def parse_subject(words: Sequence[str]) -> Subject:
    """Return the chat that arguments name.

    Raises:
        BadParameter: the arguments do not name a chat.
    """
    chat = parse_whole_chat(words)
    return Subject(channel=chat.channel, chat=chat.chat_id)


def _list_agent_files(settings: Settings, agent_id: str) -> list[Path]:
    """List an agent's files in the home; none if its name is not a file name."""
    if Path(agent_id).name != agent_id or agent_id in (".", ".."):
        return []
    paths = settings.paths
    return [paths.agent_prompts / f"{agent_id}.txt", paths.personas / agent_id]


def _forget_subject(
    settings: Settings, subject: Subject, files: Sequence[Path | str] = (), *, yes: bool
) -> None:
    with open_for_reading(settings.journal) as db:
        found = erasure.count_subject_rows(db, subject)
    if not found and not files:
        raise UnknownNameError(f"no data is stored about {subject}")
    lines = [f"  {table} {rows}" for table, rows in found.items()]
    typer.echo("\n".join([f"{subject}:", *lines, *map(str, files)]))
    if not yes:
        typer.confirm("Delete all of it permanently?", abort=True)
    if found:
        params = ErasureTarget(agent=subject.agent, channel=subject.channel, chat=subject.chat)
        change_journal(settings, FORGET, params, erasure.forget, subject)
    typer.echo(f"{subject}: deleted")
