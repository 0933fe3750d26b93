"""The list of trials."""

from fakes.screens import html, request
from fakes.trials import TRIAL

from orchestrator.control.trials import TrialReports
from orchestrator.extensions.page.screens import trial_list


def test_trial_says_what_it_changed_and_what_it_cost() -> None:
    """With its limit; texts of others do nothing."""
    found = TrialReports(trials=(TRIAL,))
    page = html(trial_list.render_trials(request(), found).content)
    assert "model groq/small; skills/plan/SKILL.md edited;" in page
    assert "$0.0021, 2\u202f940 tokens of at most $0.0500" in page


def test_older_trials_are_on_the_next_screen() -> None:
    """Fifty on each; an empty list says how to begin."""
    many = TrialReports(trials=(TRIAL,) * 51)
    assert "/trials?page=2" in html(trial_list.render_trials(request(), many).content)
    last = html(trial_list.render_trials(request(page="2"), many).content)
    assert "page=3" not in last
    none = html(trial_list.render_trials(request(), TrialReports(trials=())).content)
    assert "Nothing was tried yet." in none
