"""The journal of an older version loses the notices that it has as words of agents."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from fakes.golden import POSTGRESQL_FILES
from fakes.postgresql import database_of, needs_server

from orchestrator.extensions.postgresql import pg_schema
from orchestrator.extensions.postgresql.pg_connection import PostgresConnection
from thinker.protocol.messages import MESSAGE, AssistantMessage, Message, UserMessage

pytestmark = needs_server
FAILED = AssistantMessage(content="I ran out of time for this one. Please try again.")
SAID = AssistantMessage(content="Paris.")


def store(db: PostgresConnection, turn: str, end: str, *messages: Message) -> None:
    """A turn as the first release stored it; what its model said is in a step."""
    db.execute(
        "INSERT INTO turn(id, agent_id, chat_key, session_id, recipe, state, epoch, deadline,"
        " allowed, code_ver, started_at, ended_at, stop_reason)"
        " VALUES(?,'work','telegram/1/7/',9,'interactive','closed',1,0,0,'1',1,2,?)",
        (turn, end),
    )
    for message in messages:
        if message == SAID:
            db.execute(
                "INSERT INTO step(turn_id, seq, kind, name, class, state, result, epoch, t_plan)"
                " VALUES(?,1,'model','demo','pure','done',?,1,1)",
                (turn, message.model_dump_json()),
            )
        db.execute(
            "INSERT INTO message(session_id, turn_id, at, body) VALUES(9,?,1,?)",
            (turn, MESSAGE.dump_json(message).decode()),
        )
    db.execute(
        "INSERT INTO outbox(turn_id, part, channel, bot_id, chat_id, chat_key, mode, body,"
        " markdown, state, created_at) VALUES(?,0,'telegram','1','7','telegram/1/7/','direct',"
        " 'x',1,'delivered',2)",
        (turn,),
    )


@pytest.fixture
def db(tmp_path: Path) -> Iterator[PostgresConnection]:
    """A journal of the first release after its upgrade."""
    with closing(PostgresConnection(database_of(tmp_path))) as opened:
        opened.execute("DROP SCHEMA public CASCADE")
        opened.execute("CREATE SCHEMA public")
        for name in pg_schema.EXTENSIONS:
            opened.execute(f"CREATE EXTENSION {name}")
        opened.execute("CREATE TABLE schema_version(number bigint NOT NULL, moved bigint NOT NULL)")
        opened.execute("INSERT INTO schema_version VALUES(21, 0)")
        opened.execute_script(POSTGRESQL_FILES[0].read_text("utf-8"))
        opened.execute(
            "INSERT INTO session(id, agent_id, chat_key, started_at) VALUES(9,'x','y',1)"
        )
        store(opened, "a", "deadline", UserMessage(content="?"), FAILED)
        store(opened, "b", "length", UserMessage(content="?"), SAID)
        pg_schema.upgrade_schema(opened, "here")
        yield opened


def test_what_the_model_said_stays_and_notices_are_marked(db: PostgresConnection) -> None:
    """As in a file."""
    found = [str(body) for (body,) in db.execute("SELECT body FROM message ORDER BY id")]
    said = [MESSAGE.validate_json(body).content for body in found]
    assert said == ["?", "?", "Paris."]
    marked = db.execute("SELECT turn_id FROM outbox WHERE notice = 1").fetchall()
    assert marked == [("a",)]
