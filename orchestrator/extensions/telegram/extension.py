"""The extension for Telegram: a bot."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.extension import DaemonView, Extension, Finding, Part

if TYPE_CHECKING:
    from orchestrator.agentsfile import AgentsFile, ConfigModel
    from orchestrator.agentsfile.draft import Draft
    from orchestrator.control.protocol import StatusReport
    from orchestrator.settings import Settings


class TelegramExtension(Extension):
    """A Telegram bot."""

    name = "telegram"

    def get_channels_model(self) -> "type[ConfigModel]":
        from orchestrator.extensions.telegram.telegram_settings import TelegramChannels

        return TelegramChannels

    def check_agents_file(
        self, draft: "Draft", environ: Mapping[str, str] | None, home: Path | None
    ) -> None:
        from orchestrator.extensions.telegram.telegram_checks import check_telegram

        check_telegram(draft, environ, home)

    def list_findings(
        self, settings: "Settings", file: "AgentsFile | None", status: "StatusReport | None"
    ) -> Iterable[Finding]:
        from orchestrator.extensions.telegram.telegram_checks import list_telegram_findings

        return () if file is None or status else list_telegram_findings(settings, file)

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.telegram.telegram_part import TelegramPart

        return TelegramPart(daemon)
