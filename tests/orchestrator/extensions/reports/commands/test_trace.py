"""``orchestrator trace``: from the journal alone."""

import json
from pathlib import Path

import pytest
from fakes.control_server import ask, command, serving
from fakes.golden import restore_in
from fakes.journal import connection_in, job, opened
from fakes.postgresql import sqlite_only

from orchestrator.control.protocol import CLAIM_CONFIRM, Ack
from orchestrator.errors import ExitCode
from orchestrator.journal.turns import turns
from thinker.protocol.call_timing import CallAttempt, CallTiming


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose daemon of an older version was killed, and a new one, too."""
    restore_in(tmp_path)
    with opened(tmp_path) as db, job(db):
        turns.boot(db, 0)
    return tmp_path


def states(home: Path, name: str) -> list[tuple[str, int, str]]:
    """What a trace shows, as kind, number and state."""
    shown = command(home, "trace", name, "--json")
    assert shown.exit_code == 0, shown.stderr
    events = json.loads(shown.stdout)["events"]
    return [(event["kind"], event["number"], event["state"]) for event in events]


def test_trace_shows_every_state_from_arrival_to_close(home: Path) -> None:
    """The message, its turn, each step and each message of the reply, in order."""
    assert states(home, "6") == [
        ("inbox", 6, "new"),
        ("turn", 0, "running"),
        ("inbox", 6, "claimed"),
        ("step", 1, "done"),
        ("step", 2, "planned"),
        ("step", 2, "intent"),
        ("step", 2, "done"),
        ("step", 3, "done"),
        ("turn", 0, "replied"),
        ("outbox", 2, "queued"),
        ("inbox", 6, "done"),
        ("outbox", 2, "sending"),
        ("outbox", 2, "delivered"),
        ("turn", 0, "closed"),
    ]


def test_trace_for_people_names_tools_tokens_times_and_texts(home: Path) -> None:
    """One line for each state."""
    shown = command(home, "trace", "turn-closed").stdout
    assert "message 6, 1 turn n-closed" in shown
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert "States on 2026-01-01" in lines
    assert "00:00:24.000 step 2 done 1000 tool get_time, noon" in lines
    assert (
        "00:00:25.000 step 3 done model demo/demo, 100 + 10 tokens, request req_1, It is noon."
    ) in lines
    assert "00:00:28.000 reply 2 delivered 1000 part 0, platform message 901" in lines


def test_trace_shows_what_each_model_call_took(home: Path) -> None:
    """Its length, first token, failed attempts and bytes; nothing of what was not measured."""
    failed = CallAttempt(model="a/b", began=1, ended=40, status=429, error="a answered 429")
    attempts = (failed, CallAttempt(model="a/b", began=1040, ended=2_100, status=200))
    timing = CallTiming(began=0, ended=2_101, first=1_500, attempts=attempts, sent=12_345, got=678)
    timing = timing.model_copy(update={"effort": "low"})
    db = connection_in(home)
    db.execute("UPDATE step SET timing = ? WHERE seq = 3", (timing.model_dump_json(),))
    db.close()
    shown = " ".join(command(home, "trace", "6").stdout.split())
    assert (
        "00:00:25.000 step 3 done 2101 model demo/demo, 100 + 10 tokens, first token after 1500 ms,"
        " attempt 2, before it a answered 429, effort low, 12.3 + 0.7 kB, request req_1"
    ) in shown
    events = json.loads(command(home, "trace", "6", "--json").stdout)["events"]
    found = {event["number"]: event["timing"] for event in events if event["kind"] == "step"}
    assert found[1] is found[2] is None
    assert CallTiming.model_validate(found[3]) == timing


def test_trace_shows_how_long_a_turn_waited_for_its_worker(home: Path) -> None:
    """And which messages of the conversation its prompt had."""
    db = connection_in(home)
    db.execute("UPDATE turn SET ready_at = started_at + 812 WHERE id = 'turn-closed'")
    db.execute("UPDATE turn_prompt SET history_first = 3, history_last = 9")
    db.close()
    shown = " ".join(command(home, "trace", "6").stdout.split())
    assert "running agent" in shown
    assert "worker ready after 812 ms" in shown
    prompt = command(home, "trace", "6", "--prompt")
    assert "── history · messages 3 to 9 of the journal ──" in prompt.stdout
    found = json.loads(command(home, "trace", "6", "--prompt", "--json").stdout)
    assert found[0]["history"] == [3, 9]


def test_message_is_found_by_every_name_that_it_has(home: Path) -> None:
    """Its number, the platform's id, its turn, and the beginning and the end of that."""
    names = ("6", "telegram:6", "turn-closed", "turn-c", "n-closed")
    traces = [states(home, name) for name in names]
    assert traces[1:] == traces[:1] * 4


def test_trace_says_why_a_message_was_refused_or_is_dead(home: Path) -> None:
    """From the rows that ended it."""
    refused = command(home, "trace", "2").stdout
    assert "the chat is not paired" in refused
    dead = command(home, "trace", "10").stdout
    assert "signal 11" in dead


def test_trace_shows_what_a_restart_did(home: Path) -> None:
    """A turn that was adopted, and a message that may not have arrived."""
    assert "adopted in epoch 2" in command(home, "trace", "turn-intent").stdout
    assert ("outbox", 3, "unknown") in states(home, "turn-sending-direct")


def test_unclear_name_lists_what_it_could_mean(home: Path) -> None:
    """And a name that means nothing says which names there are."""
    unclear = command(home, "trace", "turn-sending")
    assert unclear.exit_code == ExitCode.USAGE
    assert "'turn-sending' fits several" in unclear.stderr
    assert sorted(line.partition(":")[0] for line in unclear.stderr.splitlines()[1:]) == [
        "g-direct",
        "ing-edit",
    ]
    assert states(home, "g-direct") == states(home, "turn-sending-direct")
    unknown = command(home, "trace", "telegram:99")
    assert unknown.exit_code == ExitCode.USAGE
    assert "a message's number, CHANNEL:MESSAGE_ID or the end of a turn's id" in unknown.stderr


def test_message_ids_of_two_chats_are_told_apart(home: Path) -> None:
    """Telegram numbers the messages of each chat from 1."""
    db = connection_in(home)
    db.execute("UPDATE inbox SET message_id = '77' WHERE id IN(3, 4)")
    db.close()
    unclear = command(home, "trace", "telegram:77")
    assert "3: message 77 of telegram:103, claimed" in unclear.stderr
    assert "4: message 77 of telegram:104, claimed" in unclear.stderr


def test_prompt_of_a_turn_is_shown_layer_by_layer(home: Path) -> None:
    """As it was sent, with sizes; also as JSON."""
    shown = command(home, "trace", "turn-closed", "--prompt").stdout
    assert "── base · 13 chars · ~4 tokens ──\nYou are kind.\n" in shown
    assert "── tools · get_time ──" in shown
    found = json.loads(command(home, "trace", "6", "--prompt", "--json").stdout)
    assert found[0]["turnId"] == "turn-closed"
    (layer,) = found[0]["prompt"]["layers"]
    assert (layer["name"], layer["text"]) == ("base", "You are kind.")
    assert (
        command(home, "trace", "turn-fresh", "--prompt").stdout == "no model has been called yet\n"
    )


@sqlite_only
def test_home_without_a_journal_is_an_error_that_says_so(tmp_path: Path) -> None:
    """And none is made."""
    refused = command(tmp_path, "trace", "1")
    assert refused.exit_code == ExitCode.IO
    assert "there is no journal" in refused.stderr
    assert list(tmp_path.iterdir()) == []


@sqlite_only
def test_journal_without_a_schema_is_an_error_that_says_so(tmp_path: Path) -> None:
    """Reading changes nothing, so the daemon has to migrate it first."""
    (tmp_path / "journal.db").touch()
    refused = command(tmp_path, "trace", "1")
    assert refused.exit_code == ExitCode.IO
    assert "start the daemon once" in refused.stderr


def test_reason_of_each_offered_tool_is_shown(home: Path) -> None:
    """As the selection gave it."""
    db = connection_in(home)
    body = json.loads(db.execute("SELECT body FROM turn_prompt LIMIT 1").get)
    body["reasons"] = {"get_time": "always"}
    db.execute("UPDATE turn_prompt SET body = ?", (json.dumps(body),))
    db.close()
    shown = command(home, "trace", "turn-closed", "--prompt").stdout
    assert "── tools · get_time (always) ──" in shown


def test_layers_beside_the_system_prompt_and_what_changed_are_shown(home: Path) -> None:
    """Where a layer was sent, the fingerprints of the two parts, and why the stable one is new."""
    db = connection_in(home)
    prompt = {
        "layers": [
            {"name": "base", "text": "B"},
            {"name": "date_time", "text": "D", "volatile": True},
            {"name": "summary", "text": "S", "volatile": True, "standing": True},
        ],
        "layout": "cached",
        "stable": "a" * 64,
        "volatile": "b" * 64,
        "changed": ["base", "tools"],
    }
    db.execute("UPDATE turn_prompt SET body = ?", (json.dumps(prompt),))
    db.close()
    shown = command(home, "trace", "turn-closed", "--prompt").stdout
    assert "── base · 1 chars · ~1 tokens ──" in shown
    assert "── date_time · 1 chars · ~1 tokens · in the newest message ──" in shown
    assert "── summary · 1 chars · ~1 tokens · in an earlier message ──" in shown
    assert "── total · 7 chars · ~3 tokens ──" in shown
    line = f"── stable {'a' * 12} (changed: base, tools) · volatile {'b' * 12} ──"
    assert line in shown


async def test_claim_is_confirmed_by_its_number(tmp_path: Path) -> None:
    """The daemon finds the turn by the end of its id."""
    async with serving(tmp_path, {CLAIM_CONFIRM: Ack()}) as server:
        shown = await ask(tmp_path, "trace", "c0ffee", "--true", "2")
    assert shown.stdout == "recorded: claim 2 was true\n"
    assert server.params(CLAIM_CONFIRM) == [{"turnId": "c0ffee", "claim": 2}]
