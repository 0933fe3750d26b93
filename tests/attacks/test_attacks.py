"""The daemon under attack: nothing that the attacks of the self-test try succeeds."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.extensions.selftest.attacks.run_attacks import AREAS, run_attacks, select_attacks

PAGE = ("page",)  # its attacks take as long as all others
OTHERS = tuple(area for area in AREAS if area not in PAGE)
pytestmark = [pytest.mark.process, pytest.mark.long]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose name leaves room for the control socket's."""
    with tempfile.TemporaryDirectory(prefix="attacks-") as name:
        yield Path(name)


@pytest.mark.parametrize("areas", [PAGE, OTHERS])
async def test_no_attack_succeeds(areas: tuple[str, ...], folder: Path) -> None:
    """Neither by what a model is told nor from inside a jail nor from outside."""
    attacks = [pair for pair in select_attacks() if pair[0] in areas]
    results = [result async for result in run_attacks(attacks, folder)]
    assert [f"{each.area}, {each.name}: {each.reached}" for each in results if each.reached] == []
    assert len(results) == len(attacks)
    assert {each.area for each in results} == set(areas)
