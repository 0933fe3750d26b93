"""The daemon under attack: nothing that the attacks of the self-test try succeeds."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.extensions.selftest.attacks.run_attacks import run_attacks, select_attacks

PARTS = 6  # each with a daemon of its own, so that none takes long beside others
pytestmark = [pytest.mark.process, pytest.mark.long]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose name leaves room for the control socket's."""
    with tempfile.TemporaryDirectory(prefix="attacks-") as name:
        yield Path(name)


@pytest.mark.parametrize("part", range(PARTS))
async def test_no_attack_succeeds(part: int, folder: Path) -> None:
    """Neither by what a model is told nor from inside a jail nor from outside."""
    attacks = select_attacks()[part::PARTS]
    results = [result async for result in run_attacks(attacks, folder)]
    assert [f"{each.area}, {each.name}: {each.reached}" for each in results if each.reached] == []
    assert len(results) == len(attacks) > 0
