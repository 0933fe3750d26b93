"""Tools of extensions that agents lack."""

import pytest
from fakes.agents_file import WORK, parsed
from fakes.installed_extensions import install_extensions

from orchestrator.agentsfile import AgentsFile
from orchestrator.extension import Extension
from orchestrator.prompts.prompt_checks import check_host_tools
from orchestrator.tools.host_tools import find_host_tools


class ClockExtension(Extension):
    """Brings a server that serves one tool."""

    name = "clock"

    def list_served_tools(self, file: AgentsFile | None) -> tuple[str, ...]:
        """The tool of every agent."""
        del file
        return ("ring",)


def test_tools_of_extensions_whose_servers_nothing_keeps_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With what to type; the daemon runs without them."""
    install_extensions(monkeypatch, own=(ClockExtension(),))
    file = parsed(WORK).file
    (message,) = map(str, check_host_tools(file, find_host_tools(file)))
    assert "the tools ring are not there: what serves them needs the extension" in message
    assert "which is not installed; run: " in message
