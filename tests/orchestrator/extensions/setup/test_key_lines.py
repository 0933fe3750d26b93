"""Keys that setup puts into the file of keys."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import OrchestratorError
from orchestrator.extensions.setup.key_lines import find_account_of, replace_values
from orchestrator.keys_file import load_environment


def test_changed_file_keeps_all_other_lines() -> None:
    """A line that offers the name is used; the last of several counts."""
    text = "# mine\n#A=\n\nexport B='x\ny'\nC=1\nC=2 # remark\n"
    assert replace_values(text, {"A": "a", "B": "b", "C": "3", "D": "d"}) == (
        "# mine\nA=a\n\nB=b\nC=1\nC=3\nD=d\n"
    )
    assert replace_values("A=1", {"B": "2"}) == "A=1\nB=2\n"


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), min_size=1))
def test_value_that_was_written_is_the_one_that_is_read(value: str) -> None:
    """Blanks, quotes, backslashes and number signs too."""
    with TemporaryDirectory() as folder:
        home = Path(folder)
        file = home / "keys.env"
        file.write_text(replace_values("# remark\n", {"A": value}), "utf-8")
        file.chmod(0o600)
        assert load_environment(home, {}) == {"A": value}


def test_variable_of_a_token_names_its_account() -> None:
    """As in keys.env."""
    assert find_account_of("TELEGRAM_BOT_TOKEN_MY_TEAM") == "my_team"
    assert [find_account_of(name) for name in ("TELEGRAM_BOT_TOKEN", "MINE", "-", "")] == [""] * 4
    with pytest.raises(OrchestratorError, match="must be 1 to 32"):
        find_account_of("TELEGRAM_BOT_TOKEN__")
