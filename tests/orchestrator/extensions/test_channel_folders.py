"""Each chat system is a folder that could be deleted."""

import re
from pathlib import Path

import pytest

import orchestrator
from orchestrator.agentsfile.channel_kinds import load_channel_kinds

ROOT = Path(orchestrator.__file__).parent.parent
FOLDER = ROOT / "orchestrator" / "extensions"
VERBS = "tool_nature.py"  # of tools, one of which is a channel's name too


@pytest.mark.parametrize("name", sorted(load_channel_kinds()))
def test_nothing_but_its_own_tests_knows_a_channel(name: str) -> None:
    """No other module imports it, or has its name in a string."""
    used = re.compile(rf"channelhost[./]{name}\b|\b{name}_(channel|events)\b|[\"']{name}[\"']")
    own = (FOLDER / name, ROOT / "tests")
    sources = [
        path
        for folder in ("orchestrator", "thinker")
        for path in (ROOT / folder).rglob("*.py")
        if path.name != VERBS and not any(path.is_relative_to(folder) for folder in own)
    ]
    assert [path.name for path in sources if used.search(path.read_text("utf-8"))] == []


@pytest.mark.parametrize("name", sorted(load_channel_kinds()))
def test_a_channel_says_what_it_is(name: str) -> None:
    """Its module and its example fit what it says."""
    kind = load_channel_kinds()[name]
    assert (FOLDER / name / f"{name}_channel.py").is_file()
    assert re.fullmatch(kind.id_pattern, kind.id_example)
    assert all(secret == secret.upper() for secret in kind.secrets)
    assert Path(FOLDER, name, "__init__.py").read_text("utf-8").startswith('"""')
