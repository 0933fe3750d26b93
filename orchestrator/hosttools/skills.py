"""read_skill: the whole text of a skill that the prompt only names (progressive disclosure)."""

from fnmatch import fnmatchcase

from anyio import to_thread

from orchestrator.hosttools.base import PlainTool, ToolContext, ToolFailure, spec, text
from thinker.protocol.messages import JsonObject, SideEffect
from thinker.protocol.skillfile import scan


async def _read(context: ToolContext, arguments: JsonObject) -> str:
    wanted = text(arguments, "name")
    skills, _ = await to_thread.run_sync(scan, context.skill_directories)
    known = {
        skill.name: skill
        for skill in skills
        if any(fnmatchcase(skill.name, glob) for glob in context.skills)
    }
    if wanted not in known:
        raise ToolFailure(f"no skill {wanted!r}; there are: {', '.join(sorted(known)) or 'none'}")
    return known[wanted].instructions


READ_SKILL = PlainTool(
    spec(
        "read_skill",
        "Read the full instructions of one of the available skills before using it.",
        {"name": "The skill's name as listed in <available_skills>."},
        ["name"],
        side_effect=SideEffect.PURE,
    ),
    _read,
)
