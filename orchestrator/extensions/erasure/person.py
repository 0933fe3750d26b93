"""Find everything of one person: the private chats on all channels, and the logins to the page.

A person is known by the ids that channels give: names are only a way to find them. Groups are not
a person's own: they are counted, and stay.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extensions.erasure import erasure
from orchestrator.extensions.erasure.erasure import Subject
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import chat_moves, inbox
from thinker.protocol.names import ChatName

API, PAGE = "api", "web"  # channels on which a sender's id is a name that other channels may have
SENDERS = f"""SELECT DISTINCT channel, chat_id, sender_id, sender_name, private FROM inbox
WHERE sender_id <> '' AND kind NOT IN{inbox.INTERNAL}
UNION SELECT channel, chat_id, CASE WHEN sender_id = '' THEN chat_id ELSE sender_id END, name, 1
FROM pairing"""
LOGINS = 'SELECT DISTINCT "user" FROM web_session UNION SELECT "user" FROM web_invite'
Identity = tuple[str, str]  # a channel, and the sender's id there


@dataclass(frozen=True)
class _Seen:
    """A sender, and a chat with a message of his."""

    channel: str
    chat: str
    sender: str
    name: str
    private: bool

    @property
    def identity(self) -> Identity:
        return self.channel, self.sender

    @property
    def own_chat(self) -> ChatName | None:
        """The chat if it is the person's own; the API has one for each of its users."""
        if self.channel == API:
            return ChatName(API, self.sender)
        return ChatName(self.channel, self.chat) if self.private else None


@dataclass(frozen=True)
class Person:
    """The chats of a person, the names of logins to the page, and messages in groups by chat."""

    chats: tuple[ChatName, ...]
    users: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    groups: dict[str, int] = field(default_factory=dict)

    @property
    def subjects(self) -> list[Subject]:
        return [Subject(channel=chat.channel, chat=chat.chat_id) for chat in self.chats]


def find_person(db: Database, words: Sequence[str]) -> Person:
    """Return the person with these names and chats.

    Raises:
        UnknownNameError: a word is neither a chat nor a name.
        OrchestratorError: several people have a name, or a chat is a group.
    """
    seen = [
        _Seen(str(channel), str(chat), str(sender), str(name), bool(private))
        for channel, chat, sender, name, private in db.execute(SENDERS).fetchall()
    ]
    logins = [str(user) for (user,) in db.execute(LOGINS)]
    identities: set[Identity] = set()
    chats: list[ChatName] = []
    users: set[str] = set()
    for word in words:
        chat = _find_named_chat(db, seen, word)
        if chat is not None:
            chats.append(chat)
            found = {one.identity for one in seen if one.own_chat == chat}
        else:
            found = _find_by_name(seen, word)
            users |= {user for user in logins if user.casefold() == word.casefold()}
        if chat is None and not found and not users:
            raise UnknownNameError(
                f"no person has the name {word!r}; write it as the chat system shows it, or a"
                " chat such as telegram:123"
            )
        identities |= found
    users |= {sender for channel, sender in identities if channel == PAGE and sender in logins}
    own = [one for one in seen if one.identity in identities]
    chats += [one.own_chat for one in own if one.own_chat is not None]
    return Person(
        tuple(sorted(set(chats), key=str)),
        tuple(sorted(users)),
        tuple(sorted({sender for _, sender in identities} | {chat.chat_id for chat in chats})),
        tuple(sorted({one.name for one in own if one.name})),
        _count_in_groups(db, identities),
    )


def count_person_rows(db: Database, person: Person) -> dict[str, int]:
    """Count the rows of all chats and logins, by table."""
    counts: dict[str, int] = {}
    for subject in person.subjects:
        for table, rows in erasure.count_subject_rows(db, subject).items():
            counts[table] = counts.get(table, 0) + rows
    for table in ("web_session", "web_invite"):
        for user in person.users:
            sql = f'SELECT count(*) FROM {table} WHERE "user" = ?'
            counts[table] = counts.get(table, 0) + int(db.execute(sql, (user,)).get)
    return {table: rows for table, rows in counts.items() if rows}


def list_person_scopes(db: Database, person: Person) -> list[str]:
    """Return the parts of the memory that are the person's alone."""
    return [scope for one in person.subjects for scope in erasure.list_scopes(db, one)]


def forget_person(db: Database, person: Person, now: int) -> None:
    """Remove all data of the person's chats and logins: all of it, or nothing.

    Raises:
        OrchestratorError: one of the chats is being answered, or there is nothing.
    """
    if not count_person_rows(db, person):
        raise OrchestratorError("the journal has no data of this person")
    for subject in person.subjects:
        if erasure.count_subject_rows(db, subject):
            erasure.forget(db, subject, now)
    for user in person.users:
        for table in ("web_session", "web_invite"):
            db.execute(f'DELETE FROM {table} WHERE "user" = ?', (user,))
    audit.record_decision(db, "operator", "forgot a person", f"chats {len(person.chats)}", now)


def _find_named_chat(db: Database, seen: Iterable[_Seen], word: str) -> ChatName | None:
    """Return the chat that a word names, by its first id.

    Raises:
        OrchestratorError: the chat is a group.
    """
    try:
        chat = ChatName.parse(word)
    except ValueError:
        return None
    first = chat_moves.load_chat_moves(db, chat.channel).get(chat.chat_id, chat.chat_id)
    chat = ChatName(chat.channel, first)
    here = [one for one in seen if (one.channel, one.chat) == (chat.channel, first)]
    if here and all(one.own_chat is None for one in here):
        raise OrchestratorError(
            f"{chat} is a group; 'orchestrator forget chat {chat}' forgets the whole of it"
        )
    known = any(one.own_chat == chat for one in seen)
    subject = Subject(channel=chat.channel, chat=chat.chat_id)
    return chat if known or erasure.count_subject_rows(db, subject) else None


def _find_by_name(seen: Iterable[_Seen], word: str) -> set[Identity]:
    """Return who is called so, one on each channel.

    Raises:
        OrchestratorError: several people on one channel are.
    """
    wanted = word.casefold()
    named = [one for one in seen if wanted in (one.name.casefold(), one.sender.casefold())]
    found = {one.identity for one in named}
    channels = [channel for channel, _ in found]
    if len(set(channels)) < len(channels):
        chats = sorted({str(one.own_chat) for one in named if one.own_chat is not None})
        raise OrchestratorError(
            f"several people have the name {word!r}; name the chats of one: {', '.join(chats)}"
        )
    return found


def _count_in_groups(db: Database, identities: Iterable[Identity]) -> dict[str, int]:
    counts: dict[str, int] = {}
    sql = (
        "SELECT chat_id, count(*) FROM inbox WHERE channel = ? AND sender_id = ? AND private = 0"
        " GROUP BY chat_id"
    )
    for channel, sender in sorted(identities):
        if channel != API:
            for chat, rows in db.execute(sql, (channel, sender)):
                counts[f"{channel}:{chat}"] = int(rows)
    return counts
