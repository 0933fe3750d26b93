"""The extension for skills that agents read and write."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from orchestrator.extension import DaemonView, Extension, Part

if TYPE_CHECKING:
    from orchestrator.tools.builtin.host_tool import HostTool


class SkillsExtension(Extension):
    """Lets agents read skills with the files beside them, and keep playbooks of their own."""

    name = "skills"

    def list_tools(self) -> "Sequence[HostTool]":
        from orchestrator.extensions.skills import skill_tools

        return (
            skill_tools.read_skill,
            skill_tools.list_skills,
            skill_tools.store_skill,
            skill_tools.update_skill,
            skill_tools.delete_skill,
        )

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.skills.playbook_kind import PlaybookPart

        return PlaybookPart(daemon)
