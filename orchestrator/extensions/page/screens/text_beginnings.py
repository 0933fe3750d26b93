"""What a new text begins with, and which name it gets."""

from typing import NamedTuple

SKILL = """\
---
name: {name}
description: What it does, and when to use it, in one sentence.
metadata:
  keywords: [words that people write when they need it]
---

1. Write here, step by step, what the agent should do.
"""
PROMPT = """\
toolDescription: What it is for, in a few words
model: inherit
includeChat: true
prompt: |
  You are a helpful assistant. Write here who the agent is and how it answers.
"""
PLAYBOOK = """\
{
  "agent": "",
  "name": "",
  "description": "",
  "keywords": [],
  "instructions": ""
}
"""
NEW_PLAYBOOK = "playbooks/new"


class TextKind(NamedTuple):
    """A kind of texts: its heading, the end of its names, and what a new one begins with.

    New texts of a kind without ``ending`` are not made by name.
    """

    heading: str
    ending: str | None = None
    beginning: str = ""


KINDS = {
    "agents.json": TextKind("Configuration"),
    "prompts/": TextKind("Prompts", ".yaml", PROMPT),
    "skills/": TextKind("Skills", "/SKILL.md", SKILL),
    "personas/": TextKind("Texts of single agents"),
    "playbooks/": TextKind("Playbooks"),
    "tasks/": TextKind("Tasks"),
}


def find_beginning(name: str) -> str:
    """Return what a new text of this name begins with."""
    if name == NEW_PLAYBOOK:
        return PLAYBOOK
    for prefix, kind in KINDS.items():
        if kind.ending and name.startswith(prefix) and name.endswith(kind.ending):
            own = name.removeprefix(prefix).removesuffix(kind.ending)
            return kind.beginning.replace("{name}", own)
    return ""
