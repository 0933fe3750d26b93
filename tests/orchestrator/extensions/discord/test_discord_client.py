"""A bot that fails again and again keeps its token."""

from orchestrator.extensions.discord.discord_client import LOGIN_SECONDS, LOGINS, LoginBudget


def test_a_day_of_failures_has_fewer_than_a_thousand_logins() -> None:
    """The first ones are at once, the others in time."""
    budget, now, waits = LoginBudget(), 5000.0, []
    end = now + 24 * 3600
    while now < end:
        waits.append(budget.take_login(now))
        now += waits[-1] + 1
    assert waits[: int(LOGINS)] == [0.0] * int(LOGINS)
    assert LOGIN_SECONDS - 2 < waits[-1] <= LOGIN_SECONDS
    assert len(waits) < 1000


def test_after_a_quiet_hour_a_login_is_at_once() -> None:
    """A short interruption is over soon."""
    budget = LoginBudget()
    for _ in range(30):
        budget.take_login(5000.0)
    assert budget.take_login(5000.0) > 0
    assert budget.take_login(5000.0 + 12 * LOGIN_SECONDS) == 0.0
