"""The phases of the moon: a tool, a command, an endpoint, a screen of the page, and a hint."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from orchestrator.extension import Command, DaemonView, Extension, Part

if TYPE_CHECKING:
    from orchestrator.agentsfile import ConfigModel
    from orchestrator.tools.builtin.host_tool import HostTool


class AlmanacExtension(Extension):
    """What it adds. Each method imports what it needs: every command loads this module."""

    name = "almanac"

    def get_settings_model(self) -> "type[ConfigModel]":
        from orchestrator_almanac.almanac_settings import AlmanacSettings

        return AlmanacSettings

    def list_commands(self) -> Mapping[str, Command]:
        summary = "Print the phase of the moon on a day."
        return {"almanac": Command("More", summary, "orchestrator_almanac.almanac_command")}

    def list_tools(self) -> "Sequence[HostTool]":
        from orchestrator_almanac.moon_tool import moon_phase

        return (moon_phase,)

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator_almanac.almanac_part import AlmanacPart

        return AlmanacPart(daemon)
