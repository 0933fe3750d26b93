"""The commands of the prompt inspector, as `orchestrator completion` fills them in."""

from pathlib import Path

from fakes.control_server import command


def test_prompts_and_agents_of_the_home_are_completed(tmp_path: Path) -> None:
    """`prompt show` takes both; of a broken agents.json the last good version counts."""
    (tmp_path / "agents.json").write_text("{", "utf-8")
    good = '{"agents": [{"agentId": "home"}, {"agentId": "work"}]}'
    (tmp_path / "agents.last-good.json").write_text(good, "utf-8")
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "house.yaml").write_text("", "utf-8")
    shown = command(tmp_path, "completion", "bash", "--", "prompt", "show", "ho")
    assert shown.stdout.split() == ["house", "home"]
