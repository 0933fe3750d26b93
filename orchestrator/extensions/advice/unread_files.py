"""Find files of a home that are ignored because of their name or place."""

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from orchestrator.agentsfile import AgentsFile, Problem
from thinker.formats.prompts.definition_files import ENDINGS
from thinker.formats.regular_file import FileError, Folder
from thinker.formats.skill_file import FILE_NAME

MISNAMED = {
    **dict.fromkeys(
        ("agent.json", "agents.json.txt", "agents.jsonc", "config.json"), "agents.json"
    ),
    "skill": "skills",
    "prompt": "prompts",
    "hook": "hooks",
}
PERSONA = "instructions.md"
TEXTS = frozenset({".txt", ".text", ".markdown", ".toml", ".md", ".yaml", ".yml", ".json"})


def check_home_names(home: Path) -> Iterator[Problem]:
    """Yield files in a home whose name is nearly right."""
    names = {entry.name for entry in _list_entries(home)}
    for name in sorted(names & MISNAMED.keys()):
        path = home / MISNAMED[name]
        if path.suffix and path.name in names:
            continue
        move = f"rename it to {path.name}" if path.suffix else f"move what is in it to {path.name}"
        yield _build_warning(home / name, f"is not read; {move}")


def check_prompt_names(folder: Path) -> Iterator[Problem]:
    """Yield text files in the folder of prompts whose ending is ignored."""
    for path in _list_entries(folder):
        if path.suffix.lower() in TEXTS and path.suffix not in ENDINGS:
            endings = ", ".join(ENDINGS)
            yield _build_warning(
                path, f"is not read as a prompt; let its name end in one of: {endings}"
            )


def check_persona_names(folder: Path, agents: AgentsFile) -> Iterator[Problem]:
    """Yield personas that belong to no agent, and those in a misnamed file."""
    known = {agent.agent_id for agent in agents.agents}
    folders = {path.name: path for path in _list_entries(folder) if path.is_dir()}
    for name, path in folders.items():
        near = get_close_matches(name.lower(), known - folders.keys(), n=1)
        if name not in known and near:
            text = f"belongs to no agent, so it is not read; did you mean {near[0]!r}?"
            yield _build_warning(path, text)
        texts = [entry.name for entry in _list_entries(path) if entry.suffix.lower() in TEXTS]
        if name in known and texts and PERSONA not in texts:
            text = f"has no {PERSONA}, so {', '.join(sorted(texts)[:3])} is not read; rename it"
            yield _build_warning(path, text)


def check_skill_names(folder: Path) -> Iterator[Problem]:
    """Yield misnamed skill files; the right name is ``NAME/SKILL.md``."""
    for path in _list_entries(folder):
        # Files that any folder may also have are in capitals, such as README.md.
        if path.suffix == ".md" and path.stem != path.stem.upper() and path.is_file():
            where = folder / path.stem.lower() / FILE_NAME
            yield _build_warning(path, f"is not read as a skill; move it to {where}")
        elif path.name == FILE_NAME and path.is_file():
            yield _build_warning(
                path, "is not read as a skill; move it into a folder of the skill's name"
            )
        names = {entry.name for entry in _list_entries(path)} if path.is_dir() else set()
        wrong = [name for name in names if name.lower() in (FILE_NAME.lower(), "skills.md")]
        if wrong and FILE_NAME not in names:
            yield _build_warning(
                path / wrong[0], f"is not read as a skill; rename it to {FILE_NAME}"
            )


def _list_entries(folder: Path) -> list[Path]:
    """List a folder without hidden entries; an unusable folder is reported elsewhere."""
    try:
        return [folder / name for name in Folder(folder).list_names() if not name.startswith(".")]
    except FileError:
        return []


def _build_warning(path: Path, message: str) -> Problem:
    return Problem("warning", str(path), 0, None, message)
