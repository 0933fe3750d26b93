"""Find everything of one person: the private chats on all channels, and the logins to the page.

A person is known by the ids that chat systems give, the same in all accounts of a system: names are
only a way to find them. Groups are not a person's own: they are counted, and stay.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from orchestrator.agentsfile.channel_kinds import split_account
from orchestrator.agentsfile.problems import suggest_name
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
Identity = tuple[str, str]  # a chat system, and the sender's id there


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
        return split_account(self.channel)[0], self.sender

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
            identities |= {one.identity for one in seen if one.own_chat == chat}
            continue
        found = _find_by_name(seen, word)
        named = {user for user in logins if user.casefold() == word.casefold()}
        if not found and not named:
            raise UnknownNameError(_explain_unknown(seen, logins, word))
        identities |= found
        users |= named
    users |= {sender for system, sender in identities if system == PAGE and sender in logins}
    own = [one for one in seen if one.identity in identities]
    chats += [one.own_chat for one in own if one.own_chat is not None]
    return Person(
        tuple(sorted(set(chats), key=str)),
        tuple(sorted(users)),
        tuple(sorted({sender for _, sender in identities} | {chat.chat_id for chat in chats})),
        tuple(sorted({one.name for one in own if one.name})),
        _count_in_groups(db, {(one.channel, one.sender) for one in own}),
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


def _explain_unknown(seen: Sequence[_Seen], logins: Iterable[str], word: str) -> str:
    """Say that a word is no chat, or no name, and what was probably meant."""
    try:
        chat = ChatName.parse(word) if ":" in word else None  # "Ann Lee" could be "Ann:Lee"
    except ValueError:
        chat = None
    if chat is None:
        names = sorted({*logins, *(one.name for one in seen)} - {""})
        advice = "write it as the chat system shows it, or a chat such as telegram:123"
        return f"no person has the name {word!r}{suggest_name(word, names, advice)}"
    same = {str(one.own_chat) for one in seen if one.private and one.chat == chat.chat_id}
    meant = f"; did you mean {', or '.join(sorted(same))}?" if same else ""
    return f"no chat {chat} in this home{meant}"


def _find_by_name(seen: Sequence[_Seen], word: str) -> set[Identity]:
    """Return who is called so, one in each chat system.

    Raises:
        OrchestratorError: several people in one chat system are.
    """
    wanted = word.casefold()
    named = [one for one in seen if wanted in (one.name.casefold(), one.sender.casefold())]
    found = {one.identity for one in named}
    systems = [system for system, _ in found]
    if len(set(systems)) < len(systems):
        people = ", or ".join(_list_chats(seen, identity) for identity in sorted(found))
        raise OrchestratorError(
            f"several people have the name {word!r}; name the chats of one: {people}"
        )
    return found


def _list_chats(seen: Iterable[_Seen], identity: Identity) -> str:
    """Return the chats of one person joined by ``+``; an id for a person known only in groups."""
    own = {str(one.own_chat) for one in seen if one.identity == identity and one.own_chat}
    return " + ".join(sorted(own)) or identity[1]


def _count_in_groups(db: Database, senders: Iterable[tuple[str, str]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    sql = (
        "SELECT chat_id, count(*) FROM inbox WHERE channel = ? AND sender_id = ? AND private = 0"
        " GROUP BY chat_id"
    )
    for channel, sender in sorted(senders):
        if channel != API:
            for chat, rows in db.execute(sql, (channel, sender)):
                counts[f"{channel}:{chat}"] = int(rows)
    return counts
