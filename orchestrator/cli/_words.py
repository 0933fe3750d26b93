"""What may follow the words of a command line, for completion in a shell.

It runs at each press of TAB, so it imports no command: their names and options stand in
``words.json``, which scripts/reference writes.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("words.json")
NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,127}")
DEFINITIONS = (".md", ".yaml", ".yml", ".json")  # endings of prompt definitions

Candidates = Mapping[str, str]  # summary by word
Node = Mapping[str, Any]  # a command: its help, options, arguments and subcommands

UNKNOWN: Node = {"options": {}, "arguments": []}  # after a word that is no command


def candidates(words: Sequence[str], environ: Mapping[str, str]) -> Candidates:
    """Return what the last of ``words`` can become; none where a file or free text belongs."""
    known = json.loads(FILE.read_text("utf-8"))
    *before, last = words or ("",)
    node, place, option = _walked(known, before)
    if option:
        found = _values(option, known["values"], before, environ)
    elif last.startswith("-"):
        found = {name: text for name, (_, text) in node["options"].items()}
    elif "commands" in node:
        found = {name: child["help"] for name, child in node["commands"].items()}
    else:
        names = node["arguments"][place : place + 1]
        found = _values(names[0], known["values"], before, environ) if names else {}
    return {word: text for word, text in found.items() if word.startswith(last)}


def _walked(node: Node, words: Sequence[str]) -> tuple[Node, int, str]:
    """Return the command, the place of its next argument, and the open option's kind of value."""
    place, option = 0, ""
    for word in words:
        if option:
            option = ""
        elif word.startswith("-"):
            option = node["options"].get(word, ("",))[0]
        elif word in node.get("commands", ()):
            node, place = node["commands"][word], 0
        else:
            place += 1
            node = node if node["arguments"] else UNKNOWN
    return node, place, option


def _values(
    kind: str, fixed: Mapping[str, Sequence[str]], words: Sequence[str], environ: Mapping[str, str]
) -> Candidates:
    """Return the values of an argument or option, by its name in the help."""
    home = Path(_option("--home", words) or environ.get("ORCHESTRATOR_HOME") or "~/.orchestrator")
    home = Path(os.path.expanduser(home))  # noqa: PTH111 - leaves the path as it is without HOME
    if kind == "AGENT":
        return dict.fromkeys(_agents(home, words, environ) or fixed["AGENT"], "agent")
    if kind == "NAME":
        agents = _agents(home, words, environ) or fixed["AGENT"]
        prompts = (*fixed["NAME"], *_prompts(home / "prompts"))
        return {**dict.fromkeys(sorted(prompts), "prompt"), **dict.fromkeys(agents, "agent")}
    return dict.fromkeys(fixed.get(kind, ()), "")


def _option(name: str, words: Sequence[str]) -> str:
    """Return the value that an option has among the words."""
    return next((after for word, after in pairwise(words) if word == name), "")


def _agents(home: Path, words: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """Return the agents of the first file that can be read; a wrong file is no error here."""
    named = _option("--config", words) or environ.get("ORCHESTRATOR_CONFIG", "")
    for path in (Path(named) if named else home / "agents.json", home / "agents.last-good.json"):
        try:
            ids = [agent["agentId"] for agent in json.loads(path.read_bytes())["agents"]]
        except (OSError, ValueError, LookupError, TypeError):
            continue
        return [name for name in ids if isinstance(name, str) and NAME.fullmatch(name)]
    return []


def _prompts(folder: Path) -> list[str]:
    """Return the names of the definitions in a folder."""
    try:
        found = [path for path in folder.iterdir() if path.suffix in DEFINITIONS]
    except OSError:
        return []
    return [path.stem for path in found if NAME.fullmatch(path.stem)]
