"""The keys on the page."""

from fakes.screens import html, request

from orchestrator.extensions.page.screens import key_list
from orchestrator.extensions.page.setup_answers import KeyUse

KEYS = (
    KeyUse(name="OLD_KEY", set=False),
    KeyUse(name="GROQ_API_KEY", set=True, origin="keys.env", users=("agent home",)),
    KeyUse(name="TELEGRAM_BOT_TOKEN", set=False, users=("channel telegram",)),
    KeyUse(name="PATH_KEY", set=True, origin="environment"),
)


def test_keys_say_whether_they_are_set_and_who_needs_them() -> None:
    """Those that something needs come first; one of the environment cannot be removed here."""
    page = html(key_list.render_keys(request(), KEYS).content)
    assert page.index("GROQ_API_KEY") < page.index("OLD_KEY")
    assert "missing" in page
    assert "agent home" in page
    assert page.count("Remove") == 1


def test_values_are_written_and_never_shown() -> None:
    """The field is one for passwords, without a value."""
    page = html(key_list.render_keys(request(), KEYS).content)
    fields = page.split('type="password"')[1:]
    assert len(fields) == len(KEYS) + 1
    assert not any("value=" in field.partition(">")[0] for field in fields)


def test_who_may_not_change_sees_no_form() -> None:
    """The supervisor would refuse it anyway."""
    page = html(key_list.render_keys(request("viewer"), KEYS).content)
    assert "<form" not in page
