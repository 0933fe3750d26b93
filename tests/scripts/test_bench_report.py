"""What the figures of the manual are made of."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "bench_report"
WAKE = {"bench": "wake", "ready": {"zygote": 5.0, "ratio": 0.04}, "replaced": {"zygote": 30.0}}
ABOUT = {
    "orchestrator": {"version": "1", "entry": "control socket", "tool": "get_time"},
    "nanobot": {"version": "2", "entry": "nanobot serve", "tool": "list_dir path=."},
    "hermes": {"entry": "gateway", "tool": "todo", "failed": "uv: no such package"},
}
LOAD = {
    "bench": "peers",
    "figure": "per_second_16",
    "what": "messages a second",
    "values": {"orchestrator": 100.0, "nanobot": 10.0},
    "ratio": {"orchestrator": {"nanobot": 10.0}},
    "quartiles": {"ratio": {"orchestrator": {"nanobot": [9.0, 10.0, 12.0]}}},
}


def report(lines: list[object], *options: str | Path) -> str:
    """What the script prints for these lines, or complains of."""
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    done = subprocess.run(
        [sys.executable, SCRIPT, *options], input=text, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


@pytest.mark.process
def test_missed_goals_are_marked_and_absent_figures_named() -> None:
    """Of two lines the later one counts; what is no JSON is passed over."""
    earlier = {**WAKE, "ready": {"zygote": 9.0, "ratio": 1}}
    table = report([earlier, "a table", WAKE, LOAD])
    assert "| wake an idle agent, wanted → ready | 5 ms | ≤ 6 ms | 83% |" in table
    assert "| kill -9 → replacement ready | 30 ms | ≤ 10 ms | 300% **missed** |" in table
    assert "| messages/s, 16 at once, to nanobot | 10 x | ≥ 20 x | 200% **missed** |" in table
    assert "| message with ten times of everything | not measured | ≤ 1.2 x | |" in table


@pytest.mark.process
def test_peer_without_figures_stands_there_with_the_reason() -> None:
    """Nothing is invented for a peer that could not be run."""
    table = report([LOAD, {"bench": "peers", "contestants": ABOUT}])
    assert "| messages a second | 100 | 10 (10, 9 to 12) | - |" in table
    assert "hermes was not measured to the end: uv: no such package" in table


@pytest.mark.process
def test_tables_take_the_place_of_what_is_between_the_markers(tmp_path: Path) -> None:
    """The rest of the file stays, also when it is written twice; without markers it is refused."""
    page, plot = tmp_path / "figures.md", tmp_path / "figures.svg"
    begin, end = "<!-- figures: written by scripts/bench_report -->", "<!-- end of figures -->"
    page.write_text(f"before\n{begin}\nold\n{end}\nafter\n", "utf-8")
    for _ in range(2):
        report([WAKE], "--page", page, "--plot", plot, "--note", "On a busy machine.")
    text = page.read_text("utf-8")
    assert text.startswith(f"before\n{begin}\n| figure |")
    assert text.endswith(f"On a busy machine.\n{end}\nafter\n")
    assert "old" not in text
    assert plot.read_text("utf-8").count("(missed)") == 1
    page.write_text("nothing", "utf-8")
    assert "put the lines" in report([WAKE], "--page", page)
