"""Secrets leave a text for marks, and come back only where they may stand."""

import json
from typing import Any

import pytest

from orchestrator.extensions.versions.secret_marks import (
    MAX_PROBLEMS,
    SEARCHED,
    count_marks,
    mask_secrets,
    restore_secrets,
)

TOKEN = "ghp_" + "a1B2" * 6
FILE: dict[str, Any] = {
    "agents": [
        {"agentId": "work", "env": {"A": "one-secret", "B": "${B}"}},
        {"agentId": "home", "env": {"A": "other-secret"}},
    ],
    "mcpServers": {"wiki": {"headers": {"Authorization": 'a "quoted" one'}, "args": [TOKEN]}},
}
TEXT = json.dumps(FILE, indent=2)


def test_file_without_its_secrets_is_the_same_file() -> None:
    """What is taken from the environment is no secret."""
    masked = mask_secrets("agents.json", TEXT)
    assert json.loads(masked.text)["agents"][0]["env"] == {
        "A": "[kept secret: agents/work/env/A]",
        "B": "${B}",
    }
    for secret in ("one-secret", "other-secret", "quoted", TOKEN):
        assert secret not in masked.text
    assert count_marks(masked.text) == 4
    assert restore_secrets("agents.json", masked.text, masked.secrets) == (TEXT, ())
    assert mask_secrets("agents.json", masked.text) == (masked.text, {})


@pytest.mark.parametrize("before", range(SEARCHED - 64, SEARCHED + 8, 3))
def test_secret_is_found_wherever_it_is_in_a_large_file(before: int) -> None:
    """The text is searched piece by piece, and no piece ends inside of a string."""
    secrets = {"note": f'"{TOKEN}', "env": {"A": "one-secret"}, "say": 'http://me:"pass@wiki/'}
    text = json.dumps({"agents": [{"systemPrompt": "x" * before}, secrets]})
    masked = mask_secrets("agents.json", text).text
    assert count_marks(masked) == 3
    assert not any(secret in masked for secret in (TOKEN, "one-secret", "pass"))


def test_secret_follows_its_agent_through_the_list() -> None:
    """A mark names the agent, not its place."""
    present = mask_secrets("agents.json", TEXT)
    file = json.loads(present.text)
    file["agents"].reverse()
    text, problems = restore_secrets("agents.json", json.dumps(file), present.secrets)
    assert problems == ()
    assert json.loads(text)["agents"] == [*reversed(FILE["agents"])]


@pytest.mark.parametrize(
    ("place", "mark", "message"),
    [
        ("env", "[kept secret: agents/stranger/env/A]", "has no such secret"),
        ("systemPrompt", "[kept secret: agents/work/env/A]", "only where secrets belong"),
    ],
)
def test_mark_in_a_wrong_place_is_an_error(place: str, mark: str, message: str) -> None:
    """A secret does not become a part of a prompt."""
    present = mask_secrets("agents.json", TEXT)
    value = {"A": mark} if place == "env" else mark
    text = json.dumps({"agents": [{"agentId": "work", place: value}]}, indent=1)
    found, problems = restore_secrets("agents.json", text, present.secrets)
    assert [(one.severity, message in one.message) for one in problems] == [("error", True)]
    assert found == text


@pytest.mark.parametrize(
    "cut", [len(TEXT) - 1, TEXT.index("other-secret") + 12, TEXT.index("one-secret") + 11]
)
def test_half_written_file_keeps_no_secret(cut: int) -> None:
    """It is no JSON yet, or has a name twice."""
    for text in (TEXT[:cut], TEXT[:-1] + ', "agents": []}'):
        masked = mask_secrets("agents.json", text)
        assert "-secret" not in masked.text
        assert TOKEN not in masked.text
        assert restore_secrets("agents.json", masked.text, masked.secrets) == (text, ())


@pytest.mark.parametrize(
    "text",
    [
        "secret: |\n  # first\n  my-secret\n\n    my: my-secret\nmodel: inherit\n",
        "env:\n- A=my-secret\n- B=my: my-secret\n- ${OTHER}\nmodel: inherit\n",
        "env:\n  - name: A\n    value: >-\n      my-secret\n    other: my-secret\n",
        "a:\n- env: [one,\n   my-secret]\n  secret: 'one\n   b: my-secret'\n",
        'headers: {A: "${A}", B: my-secret}\n"env":\n  "K": my-secret\n',
        "env:\n  # KEY: my-secret\n  KEY:\n    my-secret\n",
        f"---\nname: a\n---\nUse the token {TOKEN} for it.\n",
        "prompt: Say it.\nenv:\n  KEY: my-secret\n  OTHER: ${OTHER}\nmodel: inherit\n",
        "env: {KEY: my-secret}\nmodel: inherit\n",
        "-----BEGIN RSA PRIVATE KEY-----\nmy-secret\n-----END RSA PRIVATE KEY-----\n",
        "Open https://anna:my-secret@example.org for it.\n",
    ],
)
def test_prompts_and_skills_lose_what_looks_like_a_secret(text: str) -> None:
    """Nothing else of them changes."""
    masked = mask_secrets("prompts/a.md", text)
    assert "my-secret" not in masked.text
    assert TOKEN not in masked.text
    assert "${OTHER}" in masked.text or "OTHER" not in text
    assert restore_secrets("prompts/a.md", masked.text, masked.secrets) == (text, ())
    assert mask_secrets("prompts/a.md", masked.text) == (masked.text, {})


def test_words_after_a_field_of_yaml_are_no_secrets() -> None:
    """The field ends where the lines are not below it."""
    text = "secret: word\n- an item\nNext: one\nenv:\n  A: word\n\nfor: all\n- an item\n"
    masked = mask_secrets("prompts/a.md", text)
    assert {secret.raw for secret in masked.secrets.values()} == {"word"}


@pytest.mark.parametrize("value", ['["plain-secret"]', '{"A": {"B": "x"}, "C": "plain-secret"}'])
def test_secret_within_a_value_is_found_in_half_written_json(value: str) -> None:
    """As in the whole file."""
    text = f'{{"a": [{{"x": 1, "secret": {value}, "agentId": "work"}}]}}'
    whole, half = (mask_secrets("agents.json", one) for one in (text, text[:-1]))
    assert "plain-secret" not in half.text
    assert set(half.secrets.values()) == set(whole.secrets.values())


@pytest.mark.parametrize("name", ["agents.json", "tasks/7"])
@pytest.mark.parametrize("end", ["}", ',}, "env": {}'])
def test_value_from_the_environment_does_not_hide_a_secret_after_it(name: str, end: str) -> None:
    """Also in a text that is no file, and that is no valid JSON."""
    text = '{"agents": [{"env":{"A":"${B}","K":"plainsecret"' + end + "}]}"
    for whole in (text, text.replace("}]}", "},]}")):
        masked = mask_secrets(name, whole)
        assert "plainsecret" not in masked.text
        assert "${B}" in masked.text
        assert restore_secrets(name, masked.text, masked.secrets) == (whole, ())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("prompts/x.yaml", f"env:\n  A: one{' ' * 200_000}two\nprompt: {TOKEN}\n"),
        ("prompts/x.yaml", f"env:\n{f'  A: {TOKEN}{chr(10)}' * 5000}"),
        ("prompts/x.yaml", f"secret: word\n{TOKEN}\n" * 5000),
        ("prompts/x.md", f"{TOKEN}\n" * 20_000),
        ("prompts/x.md", "-----BEGIN PRIVATE KEY" * 20_000),
        ("agents.json", '"env": {"A": "word"}, ' * 20_000),
        ("agents.json", json.dumps({"agents": [{"agentId": "a", "env": {"A": "word"}}] * 2000})),
    ],
)
def test_large_texts_keep_their_secrets(name: str, text: str) -> None:
    """Each secret has a mark of its own, also where many have the same name."""
    masked = mask_secrets(name, text)
    assert masked.secrets
    assert not any(secret in masked.text for secret in (TOKEN, "word", "PRIVATE KEY"))
    assert restore_secrets(name, masked.text, masked.secrets) == (text, ())


def test_same_names_are_numbered() -> None:
    """Without the number of another one."""
    masked = mask_secrets("prompts/x.yaml", "env:\n  A: a\n  B: b\n  A: c\n  A: d\n")
    assert list(masked.secrets) == ["A", "B", "A 2", "A 3"]


def test_secret_does_not_leave_its_field() -> None:
    """A prompt would carry it to a model; another field for secrets is as good as its own."""
    masked = mask_secrets("agents.json", '{"env": {"A": "word"}, "systemPrompt": "x"}')
    (label,) = masked.secrets
    mark = f"[kept secret: {label}]"
    text, problems = restore_secrets("a.json", f'{{"x": "{mark}"}}', masked.secrets)
    assert "word" not in text
    assert [problem.severity for problem in problems] == ["error"]
    text, problems = restore_secrets("a.json", f'{{"headers": {{"A": "{mark}"}}}}', masked.secrets)
    assert ("word" in text, problems) == (True, ())


def test_many_unknown_marks_have_a_few_problems() -> None:
    """One line says it as well as a thousand."""
    text = "[kept secret: x]\n" * 1000
    restored, problems = restore_secrets("prompts/x.md", text, {})
    assert (restored, len(problems)) == (text, MAX_PROBLEMS)
    assert [problem.line for problem in problems[:2]] == [1, 2]
