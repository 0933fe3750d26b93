"""The log format of both processes."""

import os
import sys
from collections.abc import Iterator

import orjson
import pytest
import structlog

from thinker.protocol import logs


@pytest.fixture(autouse=True)
def _default_logs_afterwards() -> Iterator[None]:
    """Restore logging for other tests."""
    yield
    structlog.reset_defaults()


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    """Return what was logged to stderr; stdout stays empty."""
    captured = capsys.readouterr()
    assert captured.out == ""
    return [orjson.loads(line) for line in captured.err.split("\n")[:-1]]


def test_each_event_is_a_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Name, level, time and facts."""
    logs.configure_logging()
    structlog.get_logger().info("started", agents=2, text="two\nlines\u2028")
    (line,) = lines(capsys)
    assert line.pop("timestamp")
    assert line == {
        "event": "started",
        "level": "info",
        "agents": 2,
        "text": "two\nlines\u2028",
    }


@pytest.mark.parametrize(
    ("level", "logged"),
    [("debug", 4), ("info", 3), ("Warning", 2), ("error", 1), ("nonsense", 3)],
)
def test_level_is_the_least_that_is_logged(
    level: str, logged: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown level means info."""
    logs.configure_logging(level)
    log = structlog.get_logger()
    for name in ("debug", "info", "warning", "error"):
        getattr(log, name)("event")
    assert len(lines(capsys)) == logged


def test_bound_facts_stand_in_every_event_inside(capsys: pytest.CaptureFixture[str]) -> None:
    """They nest, and end with their block."""
    logs.configure_logging()
    log = structlog.get_logger()
    with logs.bound(agent_id="work"):
        with logs.bound(turn_id="t1"):
            log.info("inside")
        log.info("between")
    log.info("outside")
    found = [(line.get("agent_id"), line.get("turn_id")) for line in lines(capsys)]
    assert found == [("work", "t1"), ("work", None), (None, None)]


def test_chats_are_written_as_commands_take_them(capsys: pytest.CaptureFixture[str]) -> None:
    """Once: a name stays as it is."""
    logs.configure_logging()
    with logs.bound(chat_id="telegram/42/-100/7"):
        structlog.get_logger().info("sent", chat="console/local/x/")
        structlog.get_logger().info("sent", chat="console:a/b/c/d")
    first, second = lines(capsys)
    assert (first["chat_id"], first["chat"]) == ("telegram:-100/7", "console:x")
    assert second["chat"] == "console:a/b/c/d"


@pytest.mark.parametrize(
    "key", ["token", "bot_token", "GROQ_API_KEY", "apiKey", "x-api-key", "password", "secret"]
)
def test_value_of_a_secret_is_hidden(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the value."""
    logs.configure_logging()
    structlog.get_logger().info("event", **{key: "s3cret"})
    (line,) = lines(capsys)
    assert line[key] == "[hidden]"


@pytest.mark.parametrize("key", ["tokens", "max_tokens", "prompt_tokens"])
def test_number_of_tokens_is_no_secret(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Usage is logged everywhere."""
    logs.configure_logging()
    structlog.get_logger().info("event", **{key: 12})
    (line,) = lines(capsys)
    assert line[key] == 12


@pytest.mark.parametrize(
    "value",
    ["caf\udce9", 2**80, object(), {1: {2, 3}}, {(1, 2): 3}, b"\xff"],
    ids=lambda value: type(value).__name__,
)
def test_any_value_can_be_logged(value: object, capsys: pytest.CaptureFixture[str]) -> None:
    """Logging never raises."""
    logs.configure_logging()
    structlog.get_logger().info("event", value=value)
    (line,) = lines(capsys)
    assert line["event"] == "event"


def test_exception_is_part_of_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    """One event, one line, with the traceback in it."""
    logs.configure_logging()
    try:
        int("gone")
    except ValueError:
        structlog.get_logger().exception("failed")
    (line,) = lines(capsys)
    assert "ValueError: invalid literal" in str(line["exception"])


def test_traceback_on_a_terminal_shows_no_local_variables(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They hold prompts and keys."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    logs.configure_logging()
    local = "s3" + "cret"
    try:
        int("gone", base=len(local))
    except ValueError:
        structlog.get_logger().exception("failed")
    shown = capsys.readouterr().err
    assert "ValueError" in shown
    assert local not in shown


def test_hidden_signs_are_escaped_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """They neither reorder what an operator reads nor drive the terminal; no value changes."""
    logs.configure_logging()
    structlog.get_logger().info("refused", text="a\u202eb\x9b", facts={"c\u2066": 1})
    captured = capsys.readouterr().err
    assert captured.rstrip("\n").isprintable()
    assert orjson.loads(captured)["text"] == "a\u202eb\x9b"


def test_event_that_cannot_be_written_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reader is slow while another process makes it refuse to wait, or is gone."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    stream = os.fdopen(writer, "w", buffering=1)
    monkeypatch.setattr(sys, "stderr", stream)
    logs.configure_logging()
    structlog.get_logger().info("long", text="x" * 1_000_000)
    os.close(reader)
    structlog.get_logger().info("short")
    with pytest.raises(BrokenPipeError):
        stream.close()  # so much for the stream itself
