"""Commands with more options than a function has parameters."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from orchestrator.extensions.workbench.commands.option_groups import spread_options


@dataclass(frozen=True)
class Group:
    """Two options."""

    size: Annotated[int, typer.Option(help="How large.")] = 3
    paths: Annotated[list[Path] | None, typer.Option("--path", help="Which.")] = None


def test_options_of_the_group_and_of_the_command_are_parsed() -> None:
    """With their types, defaults and help."""
    app, found = typer.Typer(), list[object]()

    @app.command()
    @spread_options
    def work(name: str, *, chosen: Group, loud: bool = False) -> None:
        """Do it."""
        found.append((name, chosen, loud))

    runner = CliRunner()
    assert runner.invoke(app, ["a", "--size", "5", "--path", "x", "--loud"]).exit_code == 0
    assert runner.invoke(app, ["b"]).exit_code == 0
    assert found == [("a", Group(5, [Path("x")]), True), ("b", Group(), False)]
    shown = runner.invoke(app, ["--help"]).output
    assert "Do it." in shown
    assert "How large." in shown
    assert runner.invoke(app, ["a", "--size", "much"]).exit_code != 0


def test_option_without_a_default_is_refused() -> None:
    """Options come after each other in any order."""

    @dataclass
    class Broken:
        size: int

    def work(*, chosen: Broken) -> None: ...

    work.__annotations__["chosen"] = Broken
    with pytest.raises(TypeError, match="size has no default"):
        spread_options(work)
