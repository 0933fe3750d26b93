#!/usr/bin/env python3
"""Make a journal with very many messages, for the benches, in a few minutes.

    .venv/bin/python scripts/grownjournal.py HOME [MESSAGES [AGENTS [CHATS]]]

Writes ``HOME/journal.db``, which must not exist: half of the messages (default 1,000,000) are
people's and half are answers. Agents are named ``agent-0`` and so on (default 20), console chats
``chat-0`` (default 1,000); chat n belongs to agent n modulo the number of agents. The rows are
copies of what the daemon stores for one answered message, so they have every column that it has;
a third of the turns call a tool. Texts are random, in four languages, with word frequencies as in
real ones. All messages are in the index of the search.
"""

import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, TypeAlias

import apsw
import orjson
from finishedturns import finish_turn
from rich.progress import track

from orchestrator.extensions.memory import message_index
from orchestrator.journal import migrations
from orchestrator.journal.db.sqlite_storage import open_database
from orchestrator.journal.turns import inbox, sessions, turns

MESSAGES, AGENTS, CHATS = 1_000_000, 20, 1_000
DAYS = 90  # over which the messages are spread, up to now
DAY = 86_400_000  # milliseconds
BATCH = 5_000  # turns of one transaction
WORDS = 20_000  # different ones of each language
LENGTHS = (3, 60)  # words of a text
SYLLABLES = {  # rare words are made of them
    "en": "ing er ment con tion pre ble ly un ness ward ship ten lor mar ket stone field",
    "de": "ung ver heit ge keit schaft bau land haus stell zeit lich werk auf ein mit ber gen",
    "es": "ción mente des ado ía pre con ble tar mar les tico ñas dor ente casa rio lla",
    "pl": "anie ość prze roz ski wać nie czny owy ka pod ści mia dom rze wod żył ów",
}
COMMON = {  # the words that stand in most texts, the most frequent first
    "en": "the of and to a in is it you that was for on are with as at be this have from or by not"
    " but what all were we when your can said there use an each which she do how their if will"
    " time please invoice meeting tomorrow garden boat Monday send number email report",
    "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es"
    " an werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über so bitte"
    " Rechnung Termin morgen Garten Boot Montag schicken Nummer Bericht",
    "es": "de la que el en y a los se del las un por con no una su para es al lo como más o pero"
    " sus le ya este sí porque esta entre cuando muy sin sobre también me hasta hay factura"
    " reunión mañana jardín barco lunes enviar número correo informe",
    "pl": "w i na z że do nie się o to jest jak za po a ale od już przez co dla tak są czy ich przy"
    " był może być tego tylko jego pod proszę faktura spotkanie jutro ogród łódź poniedziałek"
    " wysłać numer poczta raport",
}
TOOLS = ("file_read", "web_search", "memory_store", "command_run", "calendar_list")
MODELS = ("openai/stub", "openai/stub-mini", "anthropic/stub")
FILLED = ("inbox", "message", "turn", "step", "outbox", "transition", "model_call")
Row: TypeAlias = dict[str, Any]


class TextSource:
    """Random texts; the n-th word of a language is as frequent as 1 / n."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._words = {language: self._invent_words(language) for language in COMMON}
        self._weights = list(accumulate(1 / (rank + 2) for rank in range(WORDS)))
        self._stock = {language: self._draw_words(language) for language in COMMON}

    def write_text(self, number: int) -> str:
        """Return a text, which names its number so that it can be found."""
        language = self._chance.choice(tuple(COMMON))
        length = min(LENGTHS[1], LENGTHS[0] + int(self._chance.expovariate(1 / 12)))
        words = list(islice(self._stock[language], length))
        return f"{' '.join(words)} {number}.".capitalize()

    def _invent_words(self, language: str) -> list[str]:
        words = COMMON[language].split()
        syllables = SYLLABLES[language].split()
        rare = {"".join(self._chance.choices(syllables, k=3 + n % 3)) for n in range(2 * WORDS)}
        return (words + sorted(rare))[:WORDS]

    def _draw_words(self, language: str) -> Iterator[str]:
        words = self._words[language]
        weights = self._weights[: len(words)]
        while True:
            yield from self._chance.choices(words, cum_weights=weights, k=10_000)


def read_template() -> dict[str, list[Row]]:
    """Return the rows by table that the daemon stores for one answered message."""
    db = apsw.Connection(":memory:")
    migrations.migrate(db)
    with db:
        turns.boot(db, 0)
        finish_turn(db, 1, ("agent", "chat"), 0)
    found = {}
    for table in FILLED:
        rows = db.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 - names from above
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        found[table] = [dict(zip(columns, row, strict=True)) for row in rows]
    db.close()
    return found


class TurnCopier:
    """Makes the rows of a turn out of those of another one."""

    def __init__(self, template: Mapping[str, Sequence[Row]], chance: random.Random) -> None:
        self._template = template
        self._chance = chance
        self._texts = TextSource(chance)
        self.rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in FILLED}

    def copy_turn(self, number: int, chat: str, agent: str, session: int, at: int) -> None:
        """Add the rows of the turn with this number to ``rows``."""
        end = at + self._chance.randrange(800, 20_000)
        key = inbox.build_chat_key("console", "local", chat, None)
        turn_id = turns.make_turn_id(at, self._chance.randbytes)
        asked, answered = self._texts.write_text(number), self._texts.write_text(number)
        place: Row = {"agent_id": agent, "chat_id": chat, "chat_key": key, "turn_id": turn_id}
        place |= {"session_id": session, "scope": f"console:{chat}"}
        told = place | {"id": number, "ended_at": end}
        self._add("inbox", 0, told | {"message_id": f"m{number}", "text": asked, "received_at": at})
        for index, text in enumerate((asked, answered)):
            body = orjson.loads(self._template["message"][index]["body"]) | {"content": text}
            stored = orjson.dumps(body).decode()
            said = {"id": 2 * number + index - 1, "body": stored, "at": end}
            self._add("message", index, place | said)
        ran = {"id": turn_id, "started_at": at, "ended_at": end, "deadline": at + 900_000}
        self._add("turn", 0, place | ran | {"state": self._choose_end()})
        called = self._chance.randrange(3) == 0
        if called:
            self._add_call(turn_id, at, end)
        used = orjson.dumps({"prompt": 900, "completion": 60, "cached": 0, "cache_written": 0})
        step = {"seq": 3 if called else 1, "result": stored, "usage": used.decode()}
        self._add("step", 0, place | step | {"t_plan": at, "t_end": end})
        sent = {"body": answered, "created_at": end}
        self._add("outbox", 0, told | sent)
        self._add_transitions(number, turn_id, at)
        spent = {"id": number, "at": end, "model": self._chance.choice(MODELS)}
        spent |= {"prompt": self._chance.randrange(400, 9_000), "usd": self._chance.random() / 100}
        self._add("model_call", 0, place | spent)

    def _choose_end(self) -> str:
        return "failed" if self._chance.randrange(200) == 0 else "closed"

    def _add_call(self, turn_id: str, at: int, end: int) -> None:
        """Add a response that calls a tool, and the call."""
        call = {"id": "c1", "name": self._chance.choice(TOOLS), "arguments": {"query": "boat"}}
        asking = {"role": "assistant", "content": "", "tool_calls": [call]}
        result = {"call_id": "c1", "name": call["name"], "content": "found nothing"}
        times = {"turn_id": turn_id, "t_plan": at, "t_end": end}
        self._add("step", 0, times | {"seq": 1, "result": orjson.dumps(asking).decode()})
        made = {"seq": 2, "kind": "tool", "parent": 1, "name": call["name"], "call_id": "c1"}
        made |= {"args": '{"query":"boat"}', "idem_key": f"{turn_id}:2", "t_intent": at}
        no_response = {"finish": None, "usage": None, "request_id": None}
        outcome = {"result": orjson.dumps(result).decode()}
        self._add("step", 0, times | made | no_response | outcome)

    def _add_transitions(self, number: int, turn_id: str, at: int) -> None:
        changes = self._template["transition"]
        for index, change in enumerate(changes):
            moved: Row = {"id": (number - 1) * len(changes) + index + 1, "at": at + 20 * index}
            if change["turn_id"] is not None:
                moved["turn_id"] = turn_id
            if change["kind"] in {"inbox", "outbox"}:
                moved["number"] = number
            self._add("transition", index, moved)

    def _add(self, table: str, index: int, changed: Row) -> None:
        row = self._template[table][index]
        self.rows[table].append(tuple((row | changed)[column] for column in row))


@contextmanager
def without_indexes(db: apsw.Connection) -> Iterator[None]:
    """Drop what slows inserting down, and make it again after the block."""
    rows = db.execute(
        "SELECT type, name, sql FROM sqlite_schema WHERE type IN('index','trigger')"
        " AND sql IS NOT NULL AND tbl_name IN(SELECT value FROM json_each(?))",
        (orjson.dumps(FILLED).decode(),),
    ).fetchall()
    for kind, name, _ in rows:
        db.execute(f"DROP {kind} {name}")
    yield
    for *_, sql in track(rows, "indexes"):
        db.execute(str(sql))


def grow_journal(
    path: Path, messages: int = MESSAGES, agents: int = AGENTS, chats: int = CHATS
) -> None:
    """Make the journal at ``path``, whose last message came a moment ago."""
    chance = random.Random(messages)  # noqa: S311 - the same journal each time
    count, now = messages // 2, time.time_ns() // 1_000_000
    start, template = now - DAYS * DAY, read_template()
    db = open_database(path)
    db.execute("PRAGMA synchronous=OFF")
    db.execute("PRAGMA cache_size=-400000")
    with db:
        turns.boot(db, start)
        opened = [_open_session(db, number, agents, start) for number in range(chats)]
    insert = {
        table: f"INSERT INTO {table} VALUES({','.join('?' * len(rows[0]))})"
        for table, rows in template.items()
    }
    copier = TurnCopier(template, chance)
    with without_indexes(db):
        for first in track(range(0, count, BATCH), "turns"):
            for number in range(first, min(count, first + BATCH)):
                which = min(chance.randrange(chats), chance.randrange(chats))  # some talk more
                agent, chat, session = opened[which]
                at = start + (now - start) * number // count
                copier.copy_turn(number + 1, chat, agent, session, at)
            with db:
                for table, rows in copier.rows.items():
                    db.executemany(insert[table], rows)
                    rows.clear()
    db.execute(
        "UPDATE session SET idle_since ="
        " (SELECT max(ended_at) FROM turn WHERE session_id = session.id)"
    )
    index_messages(db, messages)
    db.close()


def index_messages(db: apsw.Connection, messages: int) -> None:
    """Index all messages, as the daemon does."""
    more = True
    for _ in track(range(0, messages, BATCH), "index of the search"):
        with db:
            for _ in range(BATCH // message_index.SLICE):
                more = more and message_index.index_new_messages(db)
    while more:
        more = message_index.index_new_messages(db)


def _open_session(db: apsw.Connection, number: int, agents: int, at: int) -> tuple[str, str, int]:
    agent, chat = f"agent-{number % agents}", f"chat-{number}"
    key = inbox.build_chat_key("console", "local", chat, None)
    session = sessions.open_session(db, agent, key, at)
    db.execute("UPDATE session SET scope = ? WHERE id = ?", (f"console:{chat}", session))
    return agent, chat, session


def main() -> None:
    """Make the journal that the command line asks for."""
    home = Path(sys.argv[1])
    home.mkdir(parents=True, exist_ok=True)
    if (home / "journal.db").exists():
        raise SystemExit(f"{home / 'journal.db'} exists; name another folder or remove it")
    began = time.perf_counter()
    grow_journal(home / "journal.db", *map(int, sys.argv[2:5]))
    size = (home / "journal.db").stat().st_size
    print(f"{size / 1e6:.0f} MB in {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
