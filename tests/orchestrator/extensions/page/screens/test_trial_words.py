"""Trials in words."""

from typing import get_args

import pytest
from fakes.screens import html
from fakes.trials import TRIAL

from orchestrator.control.trials import FIDELITIES, ResultSource, TrialChange, Unrecorded
from orchestrator.extensions.page.screens import trial_words


def test_every_value_has_words() -> None:
    """None is shown as the daemon writes it."""
    assert set(trial_words.FIDELITIES) == set(FIDELITIES)
    assert set(trial_words.SOURCES) == set(get_args(ResultSource))
    assert set(trial_words.UNRECORDED) == set(get_args(Unrecorded))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (TrialChange(), "nothing changed"),
        (TrialChange(effort="low", temperature=0.4), "effort low; temperature 0.4"),
        (TrialChange(add_tools=("a",), remove_tools=("b", "c")), "also a; without b, c"),
        (TrialChange(as_today=True, from_step=2), "the prompt as today; from step 3 on"),
        (
            TrialChange(layout="cached", model="g/\u202em"),
            "model g/⟦U+202E⟧m; prompt layout cached",
        ),
    ],
)
def test_change_is_described(change: TrialChange, words: str) -> None:
    """Part by part, and harmless."""
    assert trial_words.describe_trial_change(change) == words


def test_state_says_what_is_left() -> None:
    """A run that has not ended claims nothing."""
    running = TRIAL.model_copy(update={"state": "running", "waiting": 2})
    assert "runs, 2 to go" in html(trial_words.render_trial_state(running))
    assert "not tried yet" in html(trial_words.render_fidelity(None))


def test_question_is_shown_without_its_markdown() -> None:
    """On one line."""
    assert trial_words.format_question("## **What** I\n\nfound", 40) == "What I found"
