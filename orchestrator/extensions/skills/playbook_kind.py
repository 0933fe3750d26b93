"""Playbooks and stored skills as texts that people edit: JSON, kept in the journal."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from orchestrator.config_problem import Problem
from orchestrator.editable import EditableKind, TextChangedError, format_json_text
from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extension import DaemonView, Part
from orchestrator.extensions.skills import playbook_changes
from orchestrator.extensions.skills.skill_tools import (
    Description,
    Instructions,
    Keywords,
    Lines,
    Name,
)
from orchestrator.extensions.skills.skill_trial import (
    SKILL_CHECK,
    SkillMatches,
    SkillTrial,
    try_skill,
)
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.memory_scope import EVERY, MemoryScope
from orchestrator.journal.memory.playbooks import PLAYBOOKS, StoredPlaybook, find_playbook
from thinker.protocol.peer import Peer, RequestHandler

NAME = re.compile(r"playbooks/(new|[1-9]\d{0,17})", re.ASCII)
MAX_LISTED = 1000
BY_OPERATOR: Literal["operator"] = "operator"  # whose words and change it is


class WrittenPlaybook(BaseModel):
    """A playbook as a text says it; without keywords it is a skill that is only listed.

    ``chat`` is the only chat that has it, such as telegram:9; empty for all of the agent's.
    """

    model_config = ConfigDict(extra="forbid")

    agent: str = Field(min_length=1)
    chat: str = EVERY
    name: Name
    description: Description
    instructions: Instructions
    keywords: Keywords = ()
    priority: float = Field(0, ge=-1000, le=1000)
    required_tools: Lines = ()
    enabled: bool = True

    @property
    def memory(self) -> MemoryScope:
        """The memory that has the playbook."""
        if self.chat == EVERY:
            return MemoryScope.for_whole_agent(self.agent)
        return MemoryScope(self.agent, self.chat, joined=False, shared=False)


class PlaybookChange(NamedTuple):
    """A playbook to change from its ``old`` text; without ``written`` it is deleted."""

    id: int | None
    old: str | None
    written: WrittenPlaybook | None
    by: str


class PlaybookPart(Part):
    """Lets people edit the playbooks of a running daemon."""

    def list_editable_kinds(self) -> "tuple[PlaybookKind]":
        return (PlaybookKind(self.daemon),)

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        del peer
        return {SKILL_CHECK: self._try_skill}

    async def _try_skill(self, params: JsonValue) -> SkillMatches:
        trial, machine = SkillTrial.model_validate(params), self.daemon.machine
        folders = self.daemon.settings.paths.list_skill_directories("")[:-1]
        return await machine.in_thread(try_skill, folders, trial)


class PlaybookKind(EditableKind):
    """The playbooks of all agents."""

    prefix, title, author = "playbooks/", "a playbook", "an agent or a command"

    def __init__(self, daemon: DaemonView) -> None:
        self._daemon = daemon

    async def list_names(self) -> Sequence[str]:
        return [f"playbooks/{one}" for one in await self._daemon.store.read(_list_ids)]

    async def read_text(self, name: str) -> str | None:
        number = _parse_name(name)
        found = None if number is None else await self._daemon.store.read(find_written, number)
        return None if found is None else format_playbook(found)

    async def check_text(self, name: str, text: str | None) -> Sequence[Problem]:
        if text is None:
            return ()
        try:
            written = _parse(text)
        except OrchestratorError as error:
            return (Problem("error", name, 0, None, str(error)),)
        if self._daemon.get_agents_file().find_agent(written.agent) is None:
            return (Problem("error", name, 0, None, f"there is no agent {written.agent!r}"),)
        number = _parse_name(name)
        known = None if number is None else await self._daemon.store.read(find_written, number)
        if known is not None and (known.agent, known.chat) != (written.agent, written.chat):
            text = "a playbook stays with its agent and chat; make a new one for another"
            return (Problem("error", name, 0, None, text),)
        return ()

    async def describe_change(self, name: str, old: str | None, new: str | None) -> Sequence[str]:
        del name
        return describe_playbook_change(old, new)

    async def write_text(self, name: str, old: str | None, new: str | None, by: str) -> str:
        change = PlaybookChange(_parse_name(name), old, None if new is None else _parse(new), by)
        now = self._daemon.machine.clock()
        return f"playbooks/{await self._daemon.store.transact(change_playbook, change, now)}"


def change_playbook(db: Database, change: PlaybookChange, now: int) -> int:
    """Store, change or delete a playbook, and return its id.

    Raises:
        TextChangedError: the playbook is another one by now.
        OrchestratorError: the name is taken, or there is too much text.
    """
    known = None if change.id is None else find_written(db, change.id)
    if (None if known is None else format_playbook(known)) != change.old:
        raise TextChangedError(f"playbook {change.id} was changed meanwhile; read it again")
    written, number = change.written, change.id or 0
    if written is None and known is not None:
        playbook_changes.delete_playbook(db, known.memory, known.name)
    elif written is not None:
        fields = written.model_dump(exclude={"agent", "chat"})
        playbook = StoredPlaybook(
            id=number,
            source=BY_OPERATOR,
            origin=BY_OPERATOR,
            created_at=now,
            scope=written.chat,
            **fields,
        )
        if known is None:
            playbook_changes.add_playbook(db, written.memory, playbook, now)
            number = _take_number(db, written, change.id)
        else:
            playbook_changes.rename_playbook(db, written.memory, number, written.name)
            playbook_changes.update_playbook(db, written.memory, playbook, now)
    act = "deleted" if written is None else "edited" if known is not None else "stored"
    audit.record_decision(db, change.by, act, f"playbook {number}", now)
    return number


def _take_number(db: Database, written: WrittenPlaybook, wanted: int | None) -> int:
    """Return the id of a playbook that was just stored: the one that it had before, if any."""
    stored = find_playbook(db, written.memory, written.name)
    if stored is None:
        raise AssertionError(written.name)
    if wanted is not None:
        db.execute("UPDATE playbook SET id = ? WHERE id = ?", (wanted, stored.id))
    return wanted or stored.id


def _list_ids(db: Database) -> list[int]:
    rows = db.execute("SELECT id FROM playbook ORDER BY agent_id, name, id LIMIT ?", (MAX_LISTED,))
    return [int(str(number)) for (number,) in rows]


def find_written(db: Database, number: int) -> WrittenPlaybook | None:
    """Return a playbook by its id."""
    found = PLAYBOOKS.find_first(db, "id = ?", number)
    if found is None:
        return None
    agent = db.execute("SELECT agent_id FROM playbook WHERE id = ?", (number,)).get
    fields = asdict(found)
    kept = {name: fields[name] for name in WrittenPlaybook.model_fields if name in fields}
    return WrittenPlaybook.model_construct(agent=str(agent), chat=found.scope, **kept)


def format_playbook(written: WrittenPlaybook) -> str:
    """Return the text of a playbook."""
    return format_json_text(written.model_dump(mode="json"))


def _parse(text: str) -> WrittenPlaybook:
    try:
        return WrittenPlaybook.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the text"
        raise OrchestratorError(f"{place}: {first['msg']}; correct it") from error


def describe_playbook_change(old: str | None, new: str | None) -> list[str]:
    """Return a sentence for each changed field, in two texts of a playbook."""
    try:
        before, after = (None if text is None else _parse(text) for text in (old, new))
    except OrchestratorError:
        return ["the playbook has another text"]
    named = after or before
    if named is None:
        return []
    subject = f"playbook {named.name} of {named.agent}"
    if after is None:
        return [f"{subject} is deleted"]
    if before is None:
        words = ", ".join(after.keywords)
        return [f"{subject} is new" + (f": it helps with {words}" if words else ", as a skill")]
    found = []
    for field in WrittenPlaybook.model_fields:
        was, now = getattr(before, field), getattr(after, field)
        if was == now:
            continue
        if field == "instructions":
            grown = len(str(now).split()) - len(str(was).split())
            found.append(f"{subject}: other instructions, {abs(grown)} words {_sign(grown)}")
        else:
            found.append(f"{subject}: {field} {_show(was)} → {_show(now)}")
    return found


def _sign(grown: int) -> str:
    return "less" if grown < 0 else "more"


def _show(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


def _parse_name(name: str) -> int | None:
    """Return the id in a name; None for a new playbook.

    Raises:
        UnknownNameError: no playbook can have this name.
    """
    found = NAME.fullmatch(name)
    if found is None:
        raise UnknownNameError(f"{name!r} is no playbook; write playbooks/ and a number, or new")
    return None if found[1] == "new" else int(found[1])
