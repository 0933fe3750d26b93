"""The daemon under attack: nothing that the attacks of the self-test try succeeds."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.extensions.selftest.attacks.run_attacks import AREAS, run_attacks, select_attacks

# The page's attacks take twice as long as all others; together they would take too long for a test.
SHARES = {
    "half of the page": [pair for pair in select_attacks() if pair[0] == "page"][::2],
    "the rest of the page": [pair for pair in select_attacks() if pair[0] == "page"][1::2],
    "all else": [pair for pair in select_attacks() if pair[0] != "page"],
}
pytestmark = [pytest.mark.process, pytest.mark.long]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose name leaves room for the control socket's."""
    with tempfile.TemporaryDirectory(prefix="attacks-") as name:
        yield Path(name)


def test_every_area_is_attacked() -> None:
    """Each has attacks, and each attack is in one share."""
    shared = [pair for share in SHARES.values() for pair in share]
    assert {area for area, _ in shared} == set(AREAS)
    assert len(shared) == sum(map(len, AREAS.values()))


@pytest.mark.parametrize("share", SHARES)
async def test_no_attack_succeeds(share: str, folder: Path) -> None:
    """Neither by what a model is told nor from inside a jail nor from outside."""
    results = [result async for result in run_attacks(SHARES[share], folder)]
    assert [f"{each.area}, {each.name}: {each.reached}" for each in results if each.reached] == []
    assert len(results) == len(SHARES[share])
