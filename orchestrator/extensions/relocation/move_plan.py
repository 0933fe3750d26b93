"""What a move takes along, what stays, and what forbids it, before anything is done."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from orchestrator.agentsfile import AgentDefinition, AgentsFile, Binding, Problem
from orchestrator.agentsfile.channel_kinds import load_channel_kinds, name_secret, split_account
from orchestrator.cli.config_examination import examine_config
from orchestrator.errors import (
    ConfigError,
    JournalError,
    OrchestratorError,
    UnknownNameError,
)
from orchestrator.extensions.relocation import agent_files, agent_text, waiting_messages
from orchestrator.extensions.relocation.agent_files import FileSet
from orchestrator.extensions.relocation.agent_tables import AgentRows
from orchestrator.extensions.relocation.agent_text import AgentText
from orchestrator.extensions.relocation.homes import Home
from orchestrator.extensions.relocation.journal_steps import StepRequest, run_step
from orchestrator.files import write_private
from orchestrator.journal_address import DatabaseServer
from orchestrator.prompts.skill_set import SkillSet
from orchestrator.settings import TOKEN
from thinker.formats import regular_file
from thinker.formats.skill_file import FILE_NAME

DRAFT = ".agents.json.draft"
SHARED_BOT = (
    "channel {channel}: its bot also serves {others}, and one bot cannot be received in two homes;"
    " give '{agent}' a bot of its own (\"accounts\"), or move its chats to a channel of its own"
)
TAKEN_BOT = (
    "channel {channel}: {target} has a bot there; give the agent's bot an account of another name,"
    " or take {what} out of the target first"
)
FALLBACK = (
    "'{agent}' is \"fallbackAgentId\" of {source}, where chats without a binding go; name another"
    " agent there first, or remove the field"
)
ALONE = (
    "'{agent}' is the only agent of {source}; move the whole home instead, by 'orchestrator"
    " backup' and 'restore', or its journal by 'orchestrator migrate'"
)
KNOWN = "{target} has an agent '{agent}' already; remove or rename it there first"
SPECIAL = "{} is neither a file nor a folder; its program makes it anew, if it needs it"
NO_FILE = (
    "{source} has no agents.json of its own, so it runs the bundled agent; make a file first, with:"
    " orchestrator init"
)


@dataclass(frozen=True)
class MovePlan:
    """A move: what is ``refused`` forbids it, ``stays`` says what does not come along.

    ``rows`` are counted by table, ``channels`` are those whose bot goes along. ``target_text`` and
    ``source_text`` are the two files of agents afterwards.
    """

    agent: AgentText
    files: FileSet
    rows: dict[str, int]
    waiting: int
    file_count: int
    channels: tuple[str, ...]
    target_text: str
    source_text: str
    refused: tuple[str, ...]
    stays: tuple[str, ...]


def make_plan(source: Home, target: Home, agent_id: str, *, arriving: bool = False) -> MovePlan:
    """Look at both homes; ``arriving``: the target has a part of this move already.

    Raises:
        OrchestratorError: a home cannot be read, or the source has no such agent.
    """
    if not source.agents_path.is_file():
        raise ConfigError(NO_FILE.format(source=source.name))
    file = source.load_agents()
    text = read_agents_text(source) or ""
    agent = agent_text.take_agent(text, agent_id)
    definition = file.find_agent(agent_id)
    if definition is None:
        raise UnknownNameError(f"agent '{agent_id}' has an error; see: orchestrator check")
    files = find_files(source, file, definition)
    there = read_agents_text(target)
    is_there = there is not None and agent_id in agent_text.list_agents(there)
    target_text = there if is_there and there else agent_text.add_agent(there, agent)
    source_text = agent_text.remove_agent(text, agent_id)
    channels = list_bots(file, agent_id)
    rows, waiting, handed = _count_rows(source, file, agent_id)
    refused = list(_list_own_refusals(source, file, agent_id))
    if not arriving:
        refused += _list_bot_refusals(target, channels)
        refused += _list_journal_refusals(source, target, agent_id)
        if is_there:
            refused.append(KNOWN.format(target=target.name, agent=agent_id))
        for name in agent_files.list_conflicts(files, target.settings.home):
            refused.append(f"{target.name} has {name} already; move it away first")
    new_problems = () if refused else list_new_problems(target, target_text)
    if not refused:
        left = list_new_problems(source, source_text)
        refused += _list_errors(target, new_problems) + _list_errors(source, left)
    return MovePlan(
        agent=agent,
        files=files,
        rows=rows,
        waiting=waiting,
        file_count=agent_files.count_files(files, source.settings.home),
        channels=channels,
        target_text=target_text,
        source_text=source_text,
        refused=tuple(refused),
        stays=(
            *_list_rest(source, target, file, new_problems, channels, handed),
            *map(SPECIAL.format, agent_files.list_special_files(files, source.settings.home)),
        ),
    )


def find_files(source: Home, file: AgentsFile, definition: AgentDefinition) -> FileSet:
    """List the files of an agent of a home."""
    found = SkillSet.read_skills(source.settings, file).shared.values()
    paths = [
        skill.path.parent if skill.path.name == FILE_NAME else skill.path
        for skill in found
        if skill.path is not None and skill.agent == definition.agent_id
    ]
    return agent_files.list_agent_files(source.settings.paths, definition, tuple(paths))


def list_bots(file: AgentsFile, agent_id: str) -> tuple[str, ...]:
    """Return the channels of chat platforms that lead to an agent."""
    platforms = file.channels.list_chat_channels()
    bound = {_channel_of(one) for one in file.bindings if one.agent_id == agent_id}
    return tuple(sorted(bound & platforms.keys()))


def list_secrets(home: Home, channel: str) -> list[str]:
    """Return the variables with which a home receives a channel's messages, if they are set."""
    kind = load_channel_kinds().get(split_account(channel)[0])
    names = (TOKEN,) if kind is None else tuple(kind.secrets)
    found = (name_secret(name, channel) for name in names)
    return [name for name in found if home.environ.get(name)]


def read_agents_text(home: Home) -> str | None:
    """Return the text of a home's agents.json; None if it has none."""
    if not home.agents_path.is_file():
        return None
    return regular_file.read_text(home.agents_path, regular_file.AGENTS_FILE)


def _channel_of(binding: Binding) -> str:
    return binding.with_channel_of_account.channel


def _list_own_refusals(source: Home, file: AgentsFile, agent_id: str) -> Iterator[str]:
    names = {"agent": agent_id, "source": source.name}
    if len(file.agents) == 1:
        yield ALONE.format_map(names)
    elif file.fallback_agent_id == agent_id:
        yield FALLBACK.format_map(names)
    for channel in list_bots(file, agent_id):
        here = [one for one in file.bindings if _channel_of(one) == channel]
        others = sorted({one.agent_id for one in here} - {agent_id})
        any_chat = any(one.chat_id == "*" for one in here)
        if not any_chat and file.fallback_agent_id not in (None, agent_id):
            others.append(f'{file.fallback_agent_id} ("fallbackAgentId")')
        if others:
            yield SHARED_BOT.format(channel=channel, others=", ".join(others), agent=agent_id)


def _list_bot_refusals(target: Home, channels: Iterable[str]) -> Iterator[str]:
    there = target.load_agents() if target.agents_path.is_file() else None
    for channel in channels:
        names = {"channel": channel, "target": target.name}
        if secrets := list_secrets(target, channel):
            yield TAKEN_BOT.format(**names, what=", ".join(secrets))
        elif there is not None and any(_channel_of(one) == channel for one in there.bindings):
            yield TAKEN_BOT.format(**names, what="its bindings")


def _list_journal_refusals(source: Home, target: Home, agent_id: str) -> Iterator[str]:
    """Yield why the target's journal cannot take the agent; a server is asked with the move."""
    if isinstance(target.settings.journal, DatabaseServer) or not target.has_journal:
        return
    request = StepRequest(step="check", agent_id=agent_id, here=target.name, there=source.name)
    try:
        with target.read_journal() as db:
            run_step(db, request, 0)
    except OrchestratorError as error:
        yield str(error)


def _count_rows(source: Home, file: AgentsFile, agent_id: str) -> tuple[dict[str, int], int, int]:
    """Return the agent's rows, its waiting messages, and the handoffs that end."""
    try:
        with source.read_journal() as db:
            waiting = waiting_messages.list_waiting(db, file, agent_id)
            rows = AgentRows(db, agent_id, [row.id for row in waiting])
            sql = "SELECT count(*) FROM handoff WHERE agent_id = ? OR routed_id = ?"
            handed = int(db.execute(sql, (agent_id, agent_id)).get)
            return rows.count_rows(), len(waiting), handed
    except JournalError:
        if source.has_journal:
            raise
        return {}, 0, 0


def list_new_problems(home: Home, text: str) -> tuple[Problem, ...]:
    """Return the problems that a text would have in place of a home's agents.json, and it has not.

    The text is examined as a file beside it, which is removed.
    """
    settings, path = home.settings, home.agents_path
    settings.paths.create_directories()
    known: set[str] = set()
    if path.is_file():
        known = {one.message for one in examine_config(settings, path, home.environ).problems}
    draft = path.with_name(DRAFT)
    write_private(draft, text.encode())
    try:
        found = examine_config(settings, draft, home.environ).problems
    finally:
        draft.unlink(missing_ok=True)
    return tuple(one for one in found if one.message not in known)


def _list_errors(home: Home, problems: Iterable[Problem]) -> list[str]:
    errors = (one.message for one in problems if one.severity == "error")
    return [f"agents.json of {home.name} would be wrong afterwards: {one}" for one in errors]


def _list_rest(
    source: Home,
    target: Home,
    file: AgentsFile,
    new_problems: Iterable[Problem],
    channels: Iterable[str],
    handed: int,
) -> Iterator[str]:
    """Yield what does not come along, and what the target lacks."""
    for one in new_problems:
        if one.severity == "warning":
            yield f"in {target.name}: {one.message}"
    for channel in channels:
        for name in list_secrets(source, channel):
            yield f"{name} of channel {channel}: keys are never copied; the last step says when"
    if file.mcp_servers:
        names = ", ".join(sorted(file.mcp_servers))
        yield f"MCP servers ({names}) are the home's; add those that the agent needs to the target"
    if handed:
        yield f"{handed} handoffs to or from other agents end"
