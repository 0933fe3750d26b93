"""The extension for webhooks: messages from programs, and answers to servers."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.extension import DaemonView, Extension, Part

if TYPE_CHECKING:
    from orchestrator.agentsfile import ConfigModel
    from orchestrator.agentsfile.draft import Draft
    from orchestrator.turns.recipe import Recipe


class WebhooksExtension(Extension):
    """Webhooks, in and out."""

    name = "webhooks"

    def get_channels_model(self) -> "type[ConfigModel]":
        from orchestrator.extensions.webhooks.hook_settings import HookChannels

        return HookChannels

    def check_agents_file(
        self, draft: "Draft", environ: Mapping[str, str] | None, home: Path | None
    ) -> None:
        from orchestrator.extensions.webhooks.hook_checks import check_hooks

        del environ, home
        check_hooks(draft)

    def list_recipes(self) -> "Mapping[str, type[Recipe]]":
        from orchestrator.extensions.webhooks.hook_turn import HookRecipe

        return {"hook": HookRecipe}

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.webhooks.webhooks_part import WebhooksPart

        return WebhooksPart(daemon)
