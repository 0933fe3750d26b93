"""The daemon under attack: nothing that the attacks of `orchestrator.attacks` try succeeds."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.attacks.run_attacks import AREAS, chosen, run_attacks

pytestmark = pytest.mark.process


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose name leaves room for the control socket's."""
    with tempfile.TemporaryDirectory(prefix="attacks-") as name:
        yield Path(name)


@pytest.mark.parametrize("area", AREAS)
async def test_no_attack_succeeds(area: str, folder: Path) -> None:
    """Neither by what a model is told nor from inside a jail nor from outside."""
    attacks = [pair for pair in chosen() if pair[0] == area]
    results = [result async for result in run_attacks(attacks, folder)]
    assert [f"{result.name}: {result.reached}" for result in results if result.reached] == []
    assert len(results) == len(attacks) > 0
