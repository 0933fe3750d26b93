"""Each attack succeeds on a build without the defence that it names: the checks can fail."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from attacks.lost_defences import LOST_DEFENCES
from attacks.weakened_build import ROOT, build_with
from fakes.inspection import may_look_inside

from orchestrator.extensions.selftest.attacks.attack_world import SEVERAL
from orchestrator.extensions.selftest.attacks.run_attacks import run_attacks, select_attacks
from orchestrator.extensions.selftest.crash.daemon_process import PAGE, ForkServer

# What the kernel itself refuses this user, if vm.unprivileged_userfaultfd is 0.
REFUSED = () if may_look_inside() else ("tries userfaultfd",)
pytestmark = pytest.mark.process


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose name leaves room for the control socket's."""
    with tempfile.TemporaryDirectory(prefix="attacks-") as name:
        yield Path(name)


def test_every_defence_can_be_lost() -> None:
    """An attack with a new defence has to say how a build without it differs."""
    named = {attack.defence for _, attack in select_attacks()}
    assert set(LOST_DEFENCES) == named - {SEVERAL}


def test_edits_fit_the_source() -> None:
    """A change to the code that an edit takes out has to adapt the edit."""
    edits = {edit for edits in LOST_DEFENCES.values() for edit in edits}
    found = {edit: (ROOT / edit.file).read_text("utf-8").count(edit.before) for edit in edits}
    assert [edit for edit, count in found.items() if count != 1] == []


@pytest.mark.thorough(part="defences")
@pytest.mark.parametrize("lost", LOST_DEFENCES)
async def test_attacks_succeed_without_their_defence(
    lost: str, tmp_path: Path, folder: Path
) -> None:
    """All attacks that name it reach what they are after."""
    python = build_with(LOST_DEFENCES[lost], tmp_path)
    attacks = [pair for pair in select_attacks() if pair[1].defence == lost]
    with ForkServer(modules=PAGE, python=python) as server:
        results = [result async for result in run_attacks(attacks, folder, python, server.start)]
    missed = [result.name for result in results if not result.reached]
    assert [name for name in missed if not name.endswith(REFUSED)] == []
