"""Create the channels of a daemon."""

from contextlib import AsyncExitStack

from orchestrator.channel_api import Adapter
from orchestrator.configuration import Configuration
from orchestrator.control.console import Console
from orchestrator.http_api.agent_ports import AgentPorts
from orchestrator.journal.db.store import Store
from orchestrator.settings import Settings


async def open_channels(
    stack: AsyncExitStack,
    store: Store,
    settings: Settings,
    configuration: Configuration,
    console: Console,
) -> dict[str, Adapter]:
    """Return the adapters of all channels by name; ``stack`` closes their connections."""
    ports = AgentPorts(
        store, settings.paths.http_token, lambda: configuration.file, configuration.changed
    )
    adapters: dict[str, Adapter] = {console.name: console, ports.name: ports}
    token = settings.telegram_bot_token
    if token is not None and configuration.file.channels.telegram.enabled:
        # It brings the HTTP client and a Markdown parser: a sixth of the start-up time.
        from orchestrator.channels.telegram.adapter import Telegram  # noqa: PLC0415 - see above
        from orchestrator.channels.telegram.bot_api import BotApi  # noqa: PLC0415 - see above

        api = await stack.enter_async_context(
            BotApi(token.get_secret_value(), settings.telegram_api_url)
        )
        adapters["telegram"] = Telegram(api)
    return adapters
