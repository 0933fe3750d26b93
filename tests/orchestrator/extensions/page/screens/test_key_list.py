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
    assert page.count("<summary>Remove") == 1


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


def test_key_is_removed_only_after_a_question_that_names_its_users() -> None:
    """The button that removes is behind it, also without scripts."""
    used = KeyUse(name="A_KEY", set=True, origin="keys.env", users=("agent home", "agent work"))
    page = html(key_list.render_keys(request(), [used]).content)
    asked, _, rest = page.partition("Yes, remove")
    assert "Used by agent home and agent work, which cannot work without it." in asked
    assert "<details" in asked
    assert rest


def test_what_was_done_with_a_key_is_told() -> None:
    """After the form led back to the list."""
    assert "was written" in html(key_list.render_keys(request(done="set"), KEYS).content)
    assert "was removed" in html(key_list.render_keys(request(done="removed"), KEYS).content)


def test_label_of_a_value_is_that_of_the_visible_field() -> None:
    """The hidden one that browsers want before it is outside of the label."""
    page = html(key_list.render_keys(request(), KEYS).content)
    before, _, after = page.partition("<span>Value</span>")
    label = after.partition("</label>")[0]
    assert label.count("<input") == 1
    assert 'type="password"' in label
    assert 'autocomplete="username"' in before
