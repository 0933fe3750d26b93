"""Fork the first zygote from the daemon, when it has read nothing yet: they share their imports.

It has imported the rest of its own before it is asked for.
"""

from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module

from orchestrator.processes.child_process import has_spare, keep_spare
from orchestrator.processes.forked_spare import ForkedSpare
from thinker.http.optional_imports import block_imports
from thinker.jail.shared_objects import share_objects

ZYGOTE = "thinker.zygote"
# With what they import, all that the daemon, its zygote and its broker have in common.
COMMON = (
    "anyio._backends._asyncio",
    "orchestrator.broker.broker_wire",
    "pydantic.networks",
    "thinker.formats.prompts.problem",
    "thinker.formats.prompts.slots",
    "thinker.formats.skill_file",
    "thinker.http.exchange",
    "thinker.protocol.background",
    "thinker.protocol.context_windows",
    "thinker.protocol.logs",
    "thinker.protocol.model_endpoints",
    "thinker.toolcalls.markup",
    "thinker.toolcalls.quoting",
)


def fork_first_zygote(environ: Mapping[str, str]) -> None:
    """Fork what becomes the zygote; ``environ`` is this process's environment.

    None is forked where workers are executed, there is one already, or the system refuses: a zygote
    that is wanted is executed then.
    """
    if environ.get("ORCHESTRATOR_SPAWN") == "exec" or has_spare(ZYGOTE):
        return
    with block_imports("rich", "click"):
        for module in COMMON:
            import_module(module)
        share_objects()
    with suppress(OSError):
        keep_spare(ForkedSpare(ZYGOTE, ["thinker.warmup"]))
