"""What was typed at the prompt stays in a private file of limited size."""

from pathlib import Path

from orchestrator.cli import typed_messages


def test_messages_come_back_newest_first_and_whole(tmp_path: Path) -> None:
    """With their line ends and signs of any script, in a file that only this user can read."""
    path = tmp_path / "typed"
    texts = ["one", "two\nlines\x1b", "zażółć \N{GRINNING FACE}", "bad \udcff byte"]
    for text in texts:
        typed_messages.add_message(path, "work", text)
    assert path.stat().st_mode & 0o777 == 0o600
    assert typed_messages.load_messages(path) == [*reversed([*texts[:3], "bad ? byte"])]
    assert len(path.read_text("utf-8").splitlines()) == len(texts)


def test_long_messages_are_not_kept_and_old_ones_are_dropped(tmp_path: Path) -> None:
    """The file is shortened when it is read, so that it never has more than twice as many."""
    path = tmp_path / "typed"
    typed_messages.add_message(path, "work", "x" * (typed_messages.MAX_LENGTH + 1))
    assert not path.exists()
    for number in range(typed_messages.MAX_STORED + 1):
        typed_messages.add_message(path, "work", str(number))
    newest = typed_messages.load_messages(path)
    assert (newest[0], len(newest)) == (str(typed_messages.MAX_STORED), typed_messages.MAX_LOADED)
    assert len(path.read_text("utf-8").splitlines()) == typed_messages.MAX_LOADED
    assert path.stat().st_mode & 0o777 == 0o600


def test_broken_lines_are_passed_over(tmp_path: Path) -> None:
    """A crash or an editor may have left anything there."""
    path = tmp_path / "typed"
    typed_messages.add_message(path, "work", "good")
    with path.open("ab") as file:
        file.write(b'{"chat": "work"\n[1]\n"old"\n\xff\n{"chat": 1}\n')
    assert typed_messages.load_messages(path) == ["good"]
    assert typed_messages.count_messages(path, "work") == 1
