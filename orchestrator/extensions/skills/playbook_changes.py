"""Add, change and delete the stored playbooks and skills of a chat."""

from orchestrator.errors import OrchestratorError
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.memory_scope import EVERY, MemoryScope
from orchestrator.journal.memory.playbooks import (
    PLAYBOOKS,
    StoredPlaybook,
    build_row_values,
    find_playbook,
    insert_playbook,
    is_changeable,
)

MAX_BYTES = 2 * 1024 * 1024  # of all entries of a chat, as each turn sends them to its worker


class PlaybookError(OrchestratorError):
    """A playbook or skill cannot be stored."""


def add_playbook(db: Database, memory: MemoryScope, playbook: StoredPlaybook, now: int) -> None:
    """Store a new playbook or skill.

    Raises:
        PlaybookError: the name is taken, or all together exceed `MAX_BYTES`.
    """
    if find_playbook(db, memory, playbook.name) is not None:
        raise PlaybookError(f"{playbook.name!r} exists already; change it with update_skill")
    insert_playbook(db, memory, playbook, now)
    _check_size(db, memory)


def update_playbook(db: Database, memory: MemoryScope, playbook: StoredPlaybook, now: int) -> None:
    """Replace a playbook or skill by its id; an entry of other chats gets a private copy.

    Raises:
        PlaybookError: all together exceed `MAX_BYTES`.
    """
    if not is_changeable(memory, playbook):
        insert_playbook(db, memory, playbook, now)
        _check_size(db, memory)
        return
    db.execute(
        "UPDATE playbook SET description = :description, instructions = :instructions,"
        " keywords = :keywords, priority = :priority, required_tools = :required_tools,"
        " enabled = :enabled, source = :source, origin = :origin, updated_at = :now"
        " WHERE agent_id = :agent_id AND id = :id",
        build_row_values(memory, playbook, now),
    )
    _check_size(db, memory)


def rename_playbook(db: Database, memory: MemoryScope, number: int, name: str) -> None:
    """Give an entry of this memory's own another name.

    Raises:
        PlaybookError: the name is taken.
    """
    where = "agent_id = ? AND scope = ? AND name = ? AND id <> ?"
    owner = memory.agent_id, memory.own_scope
    if PLAYBOOKS.find_first(db, where, *owner, name, number) is not None:
        raise PlaybookError(f"{name!r} exists already; choose another name, or change that one")
    db.execute("UPDATE playbook SET name = ? WHERE id = ?", (name, number))


def delete_playbook(db: Database, memory: MemoryScope, name: str) -> bool:
    """Delete a playbook or skill; return False if the name is unknown.

    Raises:
        PlaybookError: the entry belongs to other chats as well.
    """
    playbook = find_playbook(db, memory, name)
    if playbook is None:
        return False
    if not is_changeable(memory, playbook):
        raise PlaybookError(f"{name!r} belongs to every chat; switch it off here with update_skill")
    sql = "DELETE FROM playbook WHERE agent_id = ? AND id = ?"
    db.execute(sql, (memory.agent_id, playbook.id))
    return True


def _check_size(db: Database, memory: MemoryScope) -> None:
    size = db.execute(
        "SELECT sum(octet_length(description) + octet_length(instructions)"
        " + octet_length(keywords) + octet_length(required_tools))"
        " FROM playbook WHERE agent_id = ? AND scope IN(?, ?)",
        (memory.agent_id, EVERY, memory.own_scope),
    ).get
    if size > MAX_BYTES:
        raise PlaybookError(
            f"all skills together must have at most {MAX_BYTES // 1024} KiB;"
            " delete or shorten one first"
        )
