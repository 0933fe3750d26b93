"""What CI runs of the thorough tests: what a landing touches, and the rest in turn."""

from pathlib import Path

from thorough_parts import MINUTES, Part, choose_parts, read_parts

ROOT = Path(__file__).parents[2]

PARTS = [
    Part("types", 2, ("orchestrator/",)),
    Part("api", 3, ("orchestrator/extensions/http_api/", "orchestrator/web/")),
    Part("nodes", 5, ("orchestrator/extensions/postgresql/",)),
    Part("page", 1, ("orchestrator/extensions/page/", "orchestrator/web/")),
]


def test_parts_of_changed_files_are_chosen() -> None:
    """A path may belong to several; types are checked whatever changed."""
    assert choose_parts(PARTS, ["orchestrator/web/guard.py"], 0) == (["types", "page", "api"], [])
    assert choose_parts(PARTS, ["README.md"], 0) == (["types"], [])


def test_every_part_has_its_turn() -> None:
    """Whatever changed, and also where that is not known."""
    chosen = [choose_parts(PARTS, [], turn)[0] for turn in range(4)]
    assert chosen == [["types"], ["types", "api"], ["types", "nodes"], ["types", "page"]]


def test_what_does_not_fit_is_named() -> None:
    """The quick ones run; a part whose turn it only is comes again."""
    changed = ["orchestrator/web/x.py", "orchestrator/extensions/postgresql/x.py"]
    assert choose_parts(PARTS, changed, 0, 7) == (["types", "page", "api"], ["nodes"])
    assert choose_parts(PARTS, [], 2, 4) == (["types"], [])


def test_parts_are_those_of_the_table() -> None:
    """Each fits into the time of CI, and depends on what there is."""
    parts = read_parts((ROOT / "tests" / "thorough.md").read_text("utf-8"))
    assert len(parts) > 10
    for part in parts:
        assert choose_parts([part], [part.paths[0]], 0) == ([part.name], [])
        assert part.minutes + parts[0].minutes <= MINUTES
        assert all(list(ROOT.glob(f"{path.rstrip('/')}*")) for path in part.paths), part
