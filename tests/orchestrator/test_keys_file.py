"""The file of keys: what is read from it, what is told, and that no value is shown."""

from pathlib import Path

import pytest

from orchestrator.keys_file import load_environment, read_keys


def written(home: Path, text: str, mode: int = 0o600) -> Path:
    """A home with this file of keys."""
    path = home / "keys.env"
    path.write_text(text, "utf-8")
    path.chmod(mode)
    return home


def test_environment_wins_over_the_file_and_an_empty_variable_does_not(tmp_path: Path) -> None:
    """Empty counts as not set, in both."""
    home = written(tmp_path, "# remark\n\nA=file\nexport B='x y' # remark\nC=\nD=a b\nE=$A${A}\n")
    assert load_environment(home, {"A": "shell", "B": "", "C": ""}) == {
        "A": "shell",
        "B": "x y",
        "D": "a b",
        "E": "$A${A}",
    }
    assert read_keys(home, {}).problems == ()


def test_home_without_the_file_has_no_keys_and_no_problem(tmp_path: Path) -> None:
    """Exported keys need none."""
    assert read_keys(tmp_path, {"A": "b"}).problems == ()
    assert load_environment(tmp_path, {"A": "b"}) == {"A": "b"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("canary", "is not NAME=value"),
        ("sk canary", "is not NAME=value"),
        ("=canary", "is not NAME=value"),
        ("A='canary", "is not NAME=value"),
        ("my-key=canary", "is not a name"),
        ("ORCHESTRATOR_HOME=/canary", "in the environment"),
    ],
)
def test_wrong_line_is_told_with_its_number_and_the_rest_counts(
    tmp_path: Path, line: str, said: str
) -> None:
    """The text of the line may be a secret and is not repeated."""
    keys = read_keys(written(tmp_path, f"A=1\n\n{line}\nB=2\n"), {})
    assert dict(keys.values) == {"A": "1", "B": "2"}
    (problem,) = keys.problems
    assert (problem.severity, problem.line) == ("error", 3)
    assert str(problem).startswith(f"{tmp_path / 'keys.env'}:3: ")
    assert said in problem.message
    assert "canary" not in f"{keys!r}{problem}"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("OPENAI_KEY=canary", "did you mean OPENAI_API_KEY?"),
        ("anthropic_api_key=canary", "did you mean ANTHROPIC_API_KEY?"),
        ("TELEGRAM_TOKEN=1:canary", "did you mean TELEGRAM_BOT_TOKEN?"),
        ("BOT_TOKEN=1:canary", "did you mean TELEGRAM_BOT_TOKEN?"),
        ("TELEGRAM_BOT_TOKEN=canary", "looks like 123456:ABC-DEF"),
        ("OPENAI_API_KEY=1:canary", "belongs in TELEGRAM_BOT_TOKEN"),
        ("OPENAI_API_KEY=Bearer canary", "copy the key alone"),
    ],
)
def test_doubtful_key_is_told_with_its_line_and_still_counts(
    tmp_path: Path, line: str, said: str
) -> None:
    """A wrong name or a swapped value is found before a vendor refuses it."""
    keys = read_keys(written(tmp_path, f"\n{line}\n"), {})
    (problem,) = keys.problems
    assert (problem.severity, problem.line) == ("warning", 2)
    assert said in problem.message
    assert "canary" not in str(problem)
    assert dict(keys.values) == dict([line.split("=", 1)])


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (
            "ORCHESTRATOR_HOEM",
            "/x",
            ["ORCHESTRATOR_HOEM has no effect; did you mean ORCHESTRATOR_HOME?"],
        ),
        (
            "USER_TIMEZONE",
            "warsaw",
            ["is not a time zone that this machine knows; use Europe/Warsaw"],
        ),
        ("USER_TIMEZONE", "Europe/Warsaw", []),
        ("ORCHESTRATOR_CRASH_AT", "x", []),
        ("HOME", "/x", []),
    ],
)
def test_variable_that_has_no_effect_is_told(
    tmp_path: Path, name: str, value: str, said: list[str]
) -> None:
    """In the environment, and in the file with its line."""
    told = [str(problem) for problem in read_keys(tmp_path, {name: value}).problems]
    assert len(told) == len(said)
    assert all(
        text.startswith("environment: warning: ") and end in text
        for text, end in zip(told, said, strict=True)
    )
    if name != "HOME":
        (tmp_path / "keys.env").write_text(f"{name}={value}\n")
        (tmp_path / "keys.env").chmod(0o600)
        problems = read_keys(tmp_path, {}).problems
        assert [problem.line for problem in problems] == [1] * len(said)


def test_name_of_another_vendor_is_no_doubt(tmp_path: Path) -> None:
    """agents.json may use any name."""
    text = "GEMINI_API_KEY=a\nOPENAI_API_KEY=b\nOPENAI_API_KEY_2=c\nOPENAI_BASE_URL=d\n"
    assert read_keys(written(tmp_path, text), {}).problems == ()


def test_keys_in_a_file_of_another_name_are_told(tmp_path: Path) -> None:
    """Many programs read ``.env``; this one does not."""
    (tmp_path / ".env").write_text("OPENAI_API_KEY=canary")
    (problem,) = read_keys(tmp_path, {}).problems
    assert str(problem) == (
        f"{tmp_path / '.env'}: warning: is not read; move its lines to {tmp_path / 'keys.env'}"
    )


def test_name_that_is_set_twice_gets_a_warning_and_the_last_counts(tmp_path: Path) -> None:
    """As in a shell."""
    keys = read_keys(written(tmp_path, "A=1\nA=2\n"), {})
    assert dict(keys.values) == {"A": "2"}
    assert [str(problem).partition("keys.env")[2] for problem in keys.problems] == [
        ":2: warning: A replaces line 1; remove one of them"
    ]


def test_file_that_others_may_read_is_used_with_a_warning(tmp_path: Path) -> None:
    """The warning has the command that closes it."""
    keys = read_keys(written(tmp_path, "A=1\n", 0o640), {})
    assert dict(keys.values) == {"A": "1"}
    assert [problem.severity for problem in keys.problems] == ["warning"]
    assert f"chmod 600 {tmp_path / 'keys.env'}" in keys.problems[0].message


def test_link_out_of_the_home_gets_a_warning(tmp_path: Path) -> None:
    """The jails of tool servers close the home, and no more than that."""
    (tmp_path / "home").mkdir()
    outside = tmp_path / "mine"
    outside.write_text("A=1\n", "utf-8")
    outside.chmod(0o600)
    (tmp_path / "home" / "keys.env").symlink_to(outside)
    keys = read_keys(tmp_path / "home", {})
    assert dict(keys.values) == {"A": "1"}
    assert [str(outside) in problem.message for problem in keys.problems] == [True]


def test_file_that_cannot_be_read_is_an_error_in_the_home_and_a_warning_as_a_credential(
    tmp_path: Path,
) -> None:
    """The daemon starts in both cases."""
    (tmp_path / "keys.env").mkdir()
    (own,) = read_keys(tmp_path, {}).problems
    assert (own.severity, "a directory" in own.message) == ("error", True)
    empty = tmp_path / "empty"
    (passed,) = read_keys(empty, {"CREDENTIALS_DIRECTORY": str(tmp_path)}).problems
    assert passed.severity == "warning"


def test_credential_of_systemd_wins_over_the_file_of_the_home(tmp_path: Path) -> None:
    """A variable wins over both."""
    for name in ("home", "credentials"):
        (tmp_path / name).mkdir()
    home = written(tmp_path / "home", "A=home\nB=home\nC=home\n")
    unit = written(tmp_path / "credentials", "A=unit\nB=unit\n", 0o440)
    given = {"CREDENTIALS_DIRECTORY": str(unit)}
    found = load_environment(home, given | {"A": "shell"})
    assert (found["A"], found["B"], found["C"]) == ("shell", "unit", "home")
    assert read_keys(home, given).problems == ()


def test_token_may_be_a_credential_of_its_own(tmp_path: Path) -> None:
    """An unreadable one is a warning; a missing one is no token."""
    given = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    assert read_keys(tmp_path / "home", given).values == {}
    token = tmp_path / "telegram-token"
    token.write_text("1:file\n", "utf-8")
    assert read_keys(tmp_path / "home", given).values == {"TELEGRAM_BOT_TOKEN": "1:file"}
    token.unlink()
    token.mkdir()
    (problem,) = read_keys(tmp_path / "home", given).problems
    assert (problem.severity, problem.file) == ("warning", str(token))
