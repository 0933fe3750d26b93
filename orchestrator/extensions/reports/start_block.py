"""Format what a terminal shows when the daemon is ready."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from orchestrator.home_paths import format_home_option
from thinker.protocol.visible_text import make_printable

MAX_AGENTS = 8  # agents; of more only the first are shown
DEMO = "demo model (rules, no language model)"
CONNECT = ("setup", "connect a language model and Telegram")


def format_start_block(ready: Mapping[str, Any]) -> str:
    """Return the lines for the event ``ready``."""
    home, models = str(ready["home"]), dict(ready["models"])
    rows = [
        ("home", home),
        ("config", str(ready["config"])),
        *_title_first("agents", _iter_agent_lines(models, int(ready.get("count", len(models))))),
        ("channels", ", ".join(ready["channels"])),
        ("next", "in a second terminal:"),
        *(("", command) for command in _iter_commands(home, models)),
    ]
    text = "".join(f"  {title:9} {value}\n" for title, value in rows)
    return f"\n{make_printable(text)}\n"


def _title_first(title: str, values: Iterable[str]) -> Iterator[tuple[str, str]]:
    for number, value in enumerate(values):
        yield ("" if number else title), value


def _iter_agent_lines(models: Mapping[str, str], count: int) -> Iterator[str]:
    width = max(map(len, models), default=0)
    for agent in sorted(models)[:MAX_AGENTS]:
        model = models[agent]
        yield f"{agent:{width}}  {DEMO if model == 'demo' else model}"
    if count > MAX_AGENTS:
        yield f"and {count - MAX_AGENTS:,} more"
    if not models:
        yield "none; add one to agents.json"


def _iter_commands(home: str, models: Mapping[str, str]) -> Iterator[str]:
    """Yield commands that can be pasted into a second terminal."""
    program, option = "orchestrator", format_home_option(home)
    if not shutil.which(program):  # it is in an environment that is not activated
        activate = Path(os.path.abspath(sys.argv[0])).with_name("activate")  # noqa: PTH100 - no ..
        if activate.exists():
            yield f". {shlex.quote(str(activate))}"
        else:
            program = shlex.quote(sys.argv[0])
    agent = min(models, default="")
    commands = [
        *([CONNECT] if models and set(models.values()) == {"demo"} else []),
        *([("chat", "talk to an agent")] if models else []),
        *([(f'send {shlex.quote(agent)} "hello"', "ask for one answer")] if models else []),
        ("dashboard", "open the web page"),
        ("status", "see what runs"),
        ("stop", "end it, as Ctrl-C does here"),
    ]
    shown = [(f"{program} {text}{option}", about) for text, about in commands]
    width = max(len(text) for text, _ in shown)
    for text, about in shown:
        yield f"{text:{width}}  {about}"
