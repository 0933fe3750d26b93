"""Histories as text, and the choice of them by a seed."""

from pathlib import Path
from random import Random

import pytest

from orchestrator.errors import ConfigError
from orchestrator.extensions.selftest.crash import campaign
from orchestrator.extensions.selftest.crash.histories import Kill, format_history, parse_history
from orchestrator.extensions.selftest.crash.runner import ReachedBoundary, Result, read_boundaries

REACHED = [ReachedBoundary("boot:after#1", 0, ()), ReachedBoundary("plan:before#1", 2, ())]
COUNTED = Result(history="", home=Path(), seconds=2.0, reached=REACHED)
ALL = dict.fromkeys(("standard", *campaign.AROUND), COUNTED)


def test_history_is_read_as_it_was_written() -> None:
    """What is printed for a failure runs the same kills again."""
    text = "worker@300ms,supervisor@plan:before#2;supervisor@boot:after#1"
    history = parse_history(text)
    assert history == (
        (Kill("worker", ms=300), Kill("supervisor", "plan:before#2")),
        (Kill("supervisor", "boot:after#1"),),
    )
    assert format_history(history) == text


@pytest.mark.parametrize("text", ["", "nobody@1ms", "worker@", "supervisor@plan:before"])
def test_history_that_says_nothing_is_refused_with_an_example(text: str) -> None:
    """The message shows how a kill is written."""
    with pytest.raises(ConfigError, match="write supervisor@plan:before#2"):
        parse_history(text)


def test_every_boundary_gets_every_victim_that_is_alive_there() -> None:
    """Workers are killed only where there are any."""
    found = [format_history(plan.history) for plan in campaign.plan_single_kills(REACHED)]
    assert found == [
        "supervisor@boot:after#1",
        "supervisor@plan:before#1",
        "worker@plan:before#1",
    ]


def test_same_seed_gives_the_same_histories() -> None:
    """A failing campaign can be repeated."""
    first, again, other = (
        [str(plan) for plan in campaign.plan_histories(ALL, 10, 30, seed)] for seed in (1, 1, 2)
    )
    assert first == again != other
    boundaries = [
        *campaign.plan_single_kills(REACHED),
        *campaign.plan_scenario_kills("effects", REACHED),
    ]
    boundaries += campaign.plan_broker_kills(REACHED)
    assert len(first) == len(boundaries) + 40 + 1  # the poisonous message comes last


def test_special_scenario_is_killed_at_what_it_is_about() -> None:
    """Its own boundaries, in its own phase; elsewhere the standard histories kill."""
    places = ("plan:before#1", "fire_task:after#2", "unpark:before#1")
    reached = [ReachedBoundary(place, 0, ()) for place in places]
    found = campaign.plan_scenario_kills("guarded", reached)
    assert [str(plan) for plan in found] == [
        "guarded/supervisor@fire_task:after#2",
        "guarded/supervisor@unpark:before#1",
    ]
    assert {plan.phase for plan in found} == {"guarded"}


def test_random_history_has_two_to_five_kills() -> None:
    """They are split into lives after each death of the supervisor."""
    for seed in range(50):
        rng = Random(seed)  # noqa: S311 - to be repeated, not to be secret
        plan = campaign.plan_random_history(COUNTED, rng)
        assert 2 <= sum(map(len, plan.history)) <= 5
        assert parse_history(format_history(plan.history)) == plan.history
        for life in plan.history:
            assert "supervisor" not in [kill.victim for kill in life[:-1]]


def test_log_of_boundaries_names_living_workers_and_killed_processes(tmp_path: Path) -> None:
    """A kill counts only where the log has the process that it hit."""
    path = tmp_path / "boundaries"
    assert read_boundaries(path) == []
    path.write_text("boot:after#1 0\nplan:before#1 2 10 11\n", "utf-8")
    assert read_boundaries(path) == [REACHED[0], ReachedBoundary("plan:before#1", 2, (10, 11))]


def test_plan_names_its_scenario_and_is_read_back() -> None:
    """What is printed for a failure in a special scenario runs in that scenario."""
    plan = campaign.parse_plan("effects/supervisor@effect:after#1")
    assert (plan.scenario, str(plan)) == ("effects", "effects/supervisor@effect:after#1")
    assert campaign.parse_plan("worker@5ms").scenario == "standard"
    with pytest.raises(ConfigError, match="there is no scenario 'other'"):
        campaign.parse_plan("other/worker@5ms")
