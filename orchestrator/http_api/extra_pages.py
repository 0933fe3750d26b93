"""What other parts of the daemon serve on the port of the endpoints, for clients with the token."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

# By path: a function that returns the media type and the body.
ExtraPages: TypeAlias = Mapping[str, Callable[[], Awaitable[tuple[str, bytes]]]]
