"""A Bot API server with two bots."""

from fakes.bot_api import FakeBotApi

from orchestrator.testing.loopback import ForeignJson


class TwoBots(FakeBotApi):
    """Serves the bot ``other`` as well, which is not entered itself."""

    def __init__(self, token: str, other: FakeBotApi) -> None:
        super().__init__(token)
        self.other = other

    async def answer_request(self, path: str, params: ForeignJson) -> tuple[int, bytes]:
        """Answer as the bot whose token the path has."""
        if f"/bot{self.other.token}/" in path:
            return await self.other.answer_request(path, params)
        return await super().answer_request(path, params)
