"""The daemon under attack: nothing that the attacks of `orchestrator.attacks` try succeeds."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.attacks.run_attacks import chosen, run_attacks

PAGE = "page"  # its attacks take as long as those of all other areas
pytestmark = [pytest.mark.process, pytest.mark.long]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose name leaves room for the control socket's."""
    with tempfile.TemporaryDirectory(prefix="attacks-") as name:
        yield Path(name)


@pytest.mark.parametrize("on_page", [True, False])
async def test_no_attack_succeeds(folder: Path, *, on_page: bool) -> None:
    """Neither by what a model is told nor from inside a jail nor from outside."""
    attacks = [pair for pair in chosen() if (pair[0] == PAGE) is on_page]
    results = [result async for result in run_attacks(attacks, folder)]
    reached = [f"{result.area}, {result.name}: {result.reached}" for result in results]
    assert [text for text, result in zip(reached, results, strict=True) if result.reached] == []
    assert len(results) == len(attacks) > 0
