"""``orchestrator forget``: delete all stored data of a person, a chat or an agent."""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from orchestrator.cli import typed_messages
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.direct_journal import change_journal
from orchestrator.cli.options import (
    AsJson,
    ChatWords,
    Home,
    load_agents,
    load_settings,
    parse_whole_chat,
)
from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extensions.erasure import erasure, kept_versions
from orchestrator.extensions.erasure import person as people
from orchestrator.extensions.erasure.erasure import Subject
from orchestrator.extensions.erasure.erasure_part import (
    FORGET,
    FORGET_PERSON,
    ErasureTarget,
    PersonTarget,
)
from orchestrator.extensions.erasure.person import Person
from orchestrator.journal.db.database import Database
from orchestrator.journal.opening import open_for_reading
from orchestrator.settings import Settings

AgentName = Annotated[
    str, typer.Argument(metavar="AGENT", help="Id of an agent that is no longer in agents.json.")
]
Who = Annotated[
    list[str], typer.Argument(metavar="WHO", help="Name or chat, such as telegram:123.")
]
SKILL = "*/SKILL.md"
REMAINS = 'orchestrator help "Forget one person"'
Yes = Annotated[bool, typer.Option("--yes", help="Delete without asking.")]
app = make_command_group("forget")


@app.command()
def chat(name: ChatWords, *, yes: Yes = False, home: Home = None) -> None:
    """Delete a chat's messages, the facts learned in it, its tasks and its pairing."""
    settings, subject = load_settings(home), parse_subject(name)
    typed, chat_id = settings.paths.chat_history, subject.chat or ""
    found = subject.channel == "console" and typed_messages.count_messages(typed, chat_id)
    with open_for_reading(settings.journal) as db:
        scopes = erasure.list_scopes(db, subject)
    folders = settings.paths.list_scope_workspaces(scopes)
    ids = (scope.partition(":")[2] for scope in scopes)
    folders += kept_versions.list_versions_with(settings.paths.history, ids)
    files: list[Path | str] = [*folders, *([f"{typed}: {found} typed here"] if found else [])]
    _forget_subject(settings, subject, files, yes=yes)
    if found:
        typed_messages.delete_messages(typed, chat_id)
    _delete_files(folders)


@app.command()
def person(
    who: Who,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show it.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Delete a person's private chats on all channels, and what belongs to them."""
    settings = load_settings(home)
    with open_for_reading(settings.journal) as db:
        found = people.find_person(db, who)
        rows = people.count_person_rows(db, found)
        scopes = people.list_person_scopes(db, found)
        exports = _list_exports(db)
    folders = settings.paths.list_scope_workspaces(scopes)
    names = {*found.ids, *found.users, *found.names} - {"", "*"}
    folders += kept_versions.list_versions_with(settings.paths.history, names)
    console = [chat.chat_id for chat in found.chats if chat.channel == "console"]
    report = {
        "chats": list(map(str, found.chats)),
        "logins": found.users,
        "rows": rows,
        "folders": list(map(str, folders)),
        "groups": found.groups,
        "configured": list(_list_configured_lines(settings, found)),
    }
    if not as_json:
        typer.echo("\n".join((*_describe_person(report), *exports)))
    if not dry_run:
        if not yes:
            typer.confirm("Delete all of it permanently?", abort=True, err=as_json)
        if rows:
            target = PersonTarget(chats=tuple(map(str, found.chats)), users=found.users)
            change_journal(settings, FORGET_PERSON, target, people.forget_person, found)
        for chat_id in console:
            typed_messages.delete_messages(settings.paths.chat_history, chat_id)
        _delete_files(folders, quiet=as_json)
    if as_json:
        typer.echo(orjson.dumps({**report, "deleted": not dry_run}))
    elif not dry_run:
        typer.echo(f"deleted; what remains elsewhere: {REMAINS}")


@app.command()
def agent(name: AgentName, *, yes: Yes = False, home: Home = None) -> None:
    """Delete an agent's conversations, memory, tasks, costs and files."""
    settings = load_settings(home)
    subject = Subject(agent=name)
    file = load_agents(settings)
    if any(found.agent_id == name for found in file.agents):
        raise OrchestratorError(f"{subject} is in agents.json; remove it there first")
    files = [path for path in _list_agent_files(settings, name) if path.exists()]
    files += kept_versions.list_versions_of_agent(settings.paths.history, name)
    _forget_subject(settings, subject, files, yes=yes)
    _delete_files(files)


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
    return [
        paths.agent_prompts / f"{agent_id}.txt",
        paths.personas / agent_id,
        paths.workspaces / agent_id,
        paths.find_chat_workspaces(agent_id),
    ]


def _delete_files(files: Iterable[Path], *, quiet: bool = False) -> None:
    for path in files:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        if not quiet:
            typer.echo(f"deleted {path}")


def _describe_person(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield what goes, and then what stays and has to be edited by hand."""
    yield f"chats: {', '.join(report['chats']) or 'none'}"
    if report["logins"]:
        yield f"logins to the page: {', '.join(report['logins'])}"
    yield from (f"  {table} {rows}" for table, rows in report["rows"].items())
    yield from report["folders"]
    for chat, rows in report["groups"].items():
        yield f"stays: {rows} messages in the group {chat}; 'forget chat {chat}' deletes all of it"
    yield from (f"stays, edit it: {line}" for line in report["configured"])


def _list_configured_lines(settings: Settings, found: Person) -> Iterator[str]:
    """Yield the lines of agents.json and of skills that name a person's chats, ids or names."""
    token = kept_versions.build_name_pattern({*found.ids, *found.users, *found.names} - {"", "*"})
    paths = settings.paths
    skills = (*paths.skills.glob(SKILL), *paths.personas.glob(f"*/skills/{SKILL}"))
    for path in (settings.find_agents_file(), *sorted(skills)):
        lines = path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
        for number, line in enumerate(lines, 1):
            if token.search(line):
                yield f"{path}:{number}: {line.strip()}"


def _list_exports(db: Database) -> list[str]:
    """Return the exports of sets of turns, whose files this command does not know."""
    rows = db.execute("SELECT DISTINCT object FROM audit WHERE act = 'exported a set'")
    return [f"stays, if it is in there: the files of the export of {what}" for (what,) in rows]


def _forget_subject(
    settings: Settings, subject: Subject, files: Sequence[Path | str] = (), *, yes: bool
) -> None:
    with open_for_reading(settings.journal) as db:
        found = erasure.count_subject_rows(db, subject)
        exports = _list_exports(db)
    if not found and not files:
        raise UnknownNameError(f"no data is stored about {subject}")
    lines = [f"  {table} {rows}" for table, rows in found.items()]
    typer.echo("\n".join([f"{subject}:", *lines, *map(str, files), *exports]))
    if not yes:
        typer.confirm("Delete all of it permanently?", abort=True)
    if found:
        params = ErasureTarget(agent=subject.agent, channel=subject.channel, chat=subject.chat)
        change_journal(settings, FORGET, params, erasure.forget, subject)
    typer.echo(f"{subject}: deleted")
