"""Secrets become marks and come back, in texts of any size."""

import json

import pytest

from orchestrator.extensions.versions.secret_marks import (
    MAX_PROBLEMS,
    mask_secrets,
    restore_secrets,
)

TOKEN = "sk-" + "a1" * 12


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
