"""What the fake of a platform cannot play, so that its world lacks it."""

from contextlib import AbstractAsyncContextManager


class PartialWorld:
    """Base of a `ChannelWorld` that lacks ``connections`` or ``nonsense``."""

    async def say_nonsense(self, chat: str) -> None:
        """The platform's library reads whatever arrives."""
        raise NotImplementedError

    def cut_off(self) -> AbstractAsyncContextManager[None]:
        """Its server stays within reach."""
        raise NotImplementedError
