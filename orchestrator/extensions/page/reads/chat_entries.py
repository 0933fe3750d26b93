"""The list of chats: what each is called, who answers it, and what was said last."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import orjson

from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import chat_history
from orchestrator.journal.inspect.chat_files import NAMED, NUMBERED
from orchestrator.journal.inspect.chat_history import MAX_SEARCHED, PAGE, ChatSummary

MAX_PAGES = 6  # of chats that a search looks through
EXCERPT = 200  # characters
STOPPED = "Stopped."  # begins what the daemon answers to `/stop`


class ListedChat(NamedTuple):
    """A chat in the list; ``at`` in milliseconds.

    ``opening`` is its first message, if it is one of the page. ``state`` and ``end`` are those of
    its newest turn, whose agent is ``agent_id``; ``answered`` says that an agent spoke last.
    ``held`` says that nothing was answered because the chat is not let in; what one wrote that was
    ``refused`` is deleted.
    """

    key: str
    sender: str
    opening: str
    text: str
    at: int
    agent_id: str = ""
    state: str = ""
    end: str | None = None
    answered: bool = False
    held: bool = False
    refused: bool = False

    def contains(self, words: str) -> bool:
        """Return whether its name or what is shown of it has these words."""
        texts = (self.key, self.sender, self.opening, self.text, self.agent_id)
        return words.casefold() in "\n".join(texts).casefold()


class _NewestTurn(NamedTuple):
    """The turn of a chat's newest message."""

    turn_id: str = ""
    agent_id: str = ""
    state: str = ""
    end: str | None = None


def list_chat_entries(
    db: Database, before: int | None = None, owner: str | None = None, words: str = ""
) -> list[ListedChat]:
    """Return the newest chats before an instant, at most `PAGE`.

    With an ``owner`` only those whose keys begin with it, and with ``words`` those that contain
    them, among the newest `MAX_PAGES` pages.
    """
    found: list[ListedChat] = []
    for _ in range(MAX_PAGES if words else 1):
        summaries = chat_history.list_chats(db, before, owner)
        entries = _describe_chats(db, summaries)
        found.extend(entry for entry in entries if not words or entry.contains(words))
        if len(summaries) < PAGE or len(found) >= PAGE:
            break
        before = summaries[-1].at
    return found[:PAGE]


def find_opening(db: Database, key: str) -> str:
    """Return the beginning of the first message of a chat of the page."""
    channel, bot_id, chat_id = chat_history.split_chat_key(key)
    return str(
        db.execute(
            f"SELECT substr(text, 1, {EXCERPT}) FROM inbox WHERE id ="
            " (SELECT min(id) FROM inbox WHERE channel = ? AND bot_id = ? AND chat_id = ?)",
            (channel, bot_id, chat_id),
        ).get
        or ""
    )


def list_held_texts(db: Database, channel: str, chat_id: str) -> list[str]:
    """Return what a chat wrote that is not let in, oldest first."""
    rows = db.execute(
        "SELECT text FROM held WHERE channel = ? AND chat_id = ? ORDER BY inbox_id",
        (channel, chat_id),
    )
    return [str(text) for (text,) in rows]


def load_held_texts(db: Database, ids: Sequence[int]) -> dict[int, str]:
    """Return the texts of those messages that wait until their chat is let in, by their rows."""
    rows = db.execute(f"SELECT inbox_id, text FROM held WHERE inbox_id {NUMBERED}", (_dump(ids),))
    return {int(row): str(text) for row, text in rows}


def _describe_chats(db: Database, summaries: Sequence[ChatSummary]) -> Iterator[ListedChat]:
    keys = [item.key for item in summaries]
    turns = _load_newest_turns(db, keys)
    answers = _load_answers(db, [turn.turn_id for turn in turns.values()])
    held, refused = _load_held_chats(db), _load_refused_chats(db)
    for item in summaries:
        turn = turns.get(item.key, _NewestTurn())
        text, at = answers.get(turn.turn_id, ("", -1))
        if turn.state == "cancelled" and item.text.startswith(STOPPED):
            at = item.at  # the answer is what was said last, not that it was stopped
        waits = held.get(item.key, "") if not item.text else ""
        yield ListedChat(
            key=item.key,
            sender=item.sender,
            opening=find_opening(db, item.key) if item.key.startswith("web/") else "",
            text=(text or "stopped") if at >= item.at else item.text or waits,
            at=max(at, item.at),
            agent_id=turn.agent_id,
            state=turn.state,
            end=turn.end,
            answered=at >= item.at,
            held=bool(waits),
            refused=not item.text and _find_place(item.key) in refused,
        )


def _load_newest_turns(db: Database, keys: Sequence[str]) -> dict[str, _NewestTurn]:
    rows = db.execute(
        "SELECT inbox.chat_key, turn.id, turn.agent_id, turn.state, turn.stop_reason"
        " FROM inbox JOIN turn ON turn.id = inbox.turn_id WHERE inbox.id IN"
        " (SELECT max(id) FROM (SELECT id, chat_key, kind FROM inbox ORDER BY id DESC LIMIT ?)"
        f" AS newest WHERE kind = 'message' AND chat_key {NAMED} GROUP BY chat_key)",
        (MAX_SEARCHED, _dump(keys)),
    )
    return {str(key): _NewestTurn(*turn) for key, *turn in rows}


def _load_answers(db: Database, turn_ids: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Return the last answer of each turn, with its time."""
    rows = db.execute(
        f"SELECT turn_id, substr(body, 1, {EXCERPT}), created_at FROM outbox"
        f" WHERE turn_id {NAMED} AND final = 1 AND aside = 0 AND approval_id IS NULL ORDER BY id",
        (_dump(turn_ids),),
    )
    return {str(turn): (str(text), int(at)) for turn, text, at in rows}


def _load_held_chats(db: Database) -> dict[str, str]:
    """Return the last message of each chat that is not let in."""
    rows = db.execute(
        f"SELECT chat_key, substr(held.text, 1, {EXCERPT}) FROM held"
        " JOIN inbox ON inbox.id = inbox_id ORDER BY inbox_id"
    )
    return {str(key): str(text) for key, text in rows}


def _load_refused_chats(db: Database) -> set[tuple[str, str]]:
    """Return the channels and ids of the chats that were refused or revoked."""
    rows = db.execute("SELECT channel, chat_id FROM pairing WHERE state = 'revoked'")
    return {(str(channel), str(chat)) for channel, chat in rows}


def _find_place(key: str) -> tuple[str, str]:
    channel, _, chat_id = chat_history.split_chat_key(key)
    return channel, chat_id


def _dump(values: Sequence[object]) -> str:
    return orjson.dumps(values).decode()
