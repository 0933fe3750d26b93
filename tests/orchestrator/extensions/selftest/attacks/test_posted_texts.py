"""What the attacks on edits take for a change of the files."""

from pathlib import Path

from orchestrator.extensions.selftest.attacks.attack_world import AttackWorld, RecordingBot
from orchestrator.extensions.selftest.attacks.obedient_model import ObedientModel
from orchestrator.extensions.selftest.attacks.posted_texts import list_changed, read_files


def test_every_change_beside_and_in_the_home_is_seen(tmp_path: Path) -> None:
    """New, changed and removed files, and links by where they lead."""
    world = AttackWorld(tmp_path, RecordingBot(), ObedientModel(), "python")
    for folder in (world.home / "prompts", world.outside):
        folder.mkdir(parents=True)
    kept, removed, linked = (world.home / "prompts" / name for name in "abc")
    kept.write_text("a")
    removed.write_text("b")
    linked.symlink_to(world.outside)
    before = read_files(world)
    assert list_changed(world, before) == ""
    kept.write_text("x")
    removed.unlink()
    linked.unlink()
    linked.symlink_to(world.home)
    (world.outside / "d").write_text("d")
    changed = list_changed(world, before).split(", ")
    assert {Path(path).name for path in changed} == {"a", "b", "c", "d"}
