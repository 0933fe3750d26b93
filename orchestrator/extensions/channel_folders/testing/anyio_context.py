"""Let callbacks of an event loop use anyio where it cannot tell which loop runs them."""

import contextvars
from functools import cache


def make_anyio_context() -> contextvars.Context:
    """Return a context in which callbacks of the loop may use anyio, as in `anyio.run`."""
    context = contextvars.copy_context()
    library = _find_library_variable()
    if library is not None:
        context.run(library.set, "asyncio")
    return context


@cache
def _find_library_variable() -> contextvars.ContextVar[str | None] | None:
    """Return the variable that anyio reads if sniffio is installed, or None without it."""
    try:
        import sniffio  # noqa: PLC0415 - a package of others, such as OpenAI's client, brings it
    except ImportError:
        return None
    return sniffio.current_async_library_cvar
