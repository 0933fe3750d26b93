"""Prompt definitions in the files of a home, and what a daemon makes of them."""

import json
from pathlib import Path
from typing import Any

from fakes.agents_file import WORK, parsed

from orchestrator.agentsfile import AgentsFile
from orchestrator.prompts.library import PromptLibrary
from orchestrator.settings import Settings

MCP = {"files": {"command": "x"}}


def agents(**fields: Any) -> AgentsFile:
    """A file with one agent whose prompt is the definition ``p``."""
    top = {"models": {"heavy": {"provider": "openai", "model": "o9", "temperature": 0.1}}}
    return parsed({**WORK, "llmProvider": "groq", "prompt": "p", **fields}, **top).file


def write(home: Path, name: str = "p", **fields: Any) -> None:
    """A definition file."""
    body = {"toolDescription": "d", "model": "inherit", "prompt": "Be kind."}
    folder = home / "prompts"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps({**body, **fields}), "utf-8")


def library(home: Path, file: AgentsFile | None = None) -> PromptLibrary:
    """What a daemon of this home reads at its start."""
    found = PromptLibrary(Settings(home=home))
    found.read_files(file or agents())
    return found


def problems(found: PromptLibrary) -> list[str]:
    """What is wrong, without the place of the files."""
    return [str(problem).rpartition("/")[2] for problem in found.current_set.problems]
