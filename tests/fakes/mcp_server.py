"""An MCP server with the official SDK: ``python mcp_server.py [http PORT | sse PORT]``.

Its tools do what servers do wrong. Effects are appended as lines to the file that
``EFFECTS`` names, so that a test can count them.
"""

import json
import os
import signal
import sys
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Image
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

server = MCPServer("fake", version="1")
effects = Path(os.environ.get("EFFECTS", "/dev/null"))
STDOUT = os.dup(1)  # the SDK puts stderr in the place of what a tool could print to
PNG = b"\x89PNG\r\n\x1a\n"


def happen(what: str) -> int:
    """Have an effect; the number of effects so far."""
    effects.parent.mkdir(parents=True, exist_ok=True)
    with effects.open("a", encoding="utf-8") as file:
        file.write(f"{what}\n")
    return len(effects.read_text("utf-8").splitlines())


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool()
def fail() -> str:
    """Fail in a way that the model should read."""
    raise ToolError("the moon is in the wrong phase")


@server.tool(structured_output=False)
def picture() -> list[object]:
    """Text and a picture."""
    return ["here:", Image(data=PNG, format="png")]


@server.tool()
async def slow() -> None:
    """Have an effect, then take for ever."""
    happen("slow")
    await anyio.sleep_forever()


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def hiccup() -> str:
    """Die the first time, answer the second."""
    if happen("hiccup") == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return "here I am"


@server.tool()
def crash() -> str:
    """Have an effect and die before it is answered."""
    happen("crash")
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


def leave_child() -> None:
    """Name this process and a daemon of its own, which holds its pipes and ignores signals.

    Return once both names are written: what comes next may end them.
    """
    happen(str(os.getpid()))
    named, name = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            happen(str(os.getpid()))
            os.write(name, b".")
            signal.pause()
        os._exit(0)
    os.read(named, 1)


@server.tool()
async def leave() -> str:
    """Start a process that means to outlive this one."""
    leave_child()
    return "left"


@server.tool()
async def hang() -> str:
    """Answer no client any more."""
    leave_child()
    signal.pause()
    return ""


@server.tool()
async def crash_and_leave_a_child() -> str:
    """Die before it is answered, while a child holds the pipes."""
    leave_child()
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


@server.tool()
def flood() -> str:
    """Write without end and without a line's end."""
    while True:
        os.write(STDOUT, b"x" * 65536)


@server.tool()
def counter(step: str = "count") -> int:
    """Have an effect that must not happen twice."""
    return happen(step)


def keyed(**given: str) -> str:
    """Have an effect once for each key."""
    text, key = given["text"], given["_idempotency_key"]
    done = effects.read_text("utf-8").splitlines() if effects.exists() else []
    if f"{key} {text}" not in done:
        happen(f"{key} {text}")
        if text == "crash":
            os.kill(os.getpid(), signal.SIGKILL)
    return f"{text} with {key}"


# The SDK passes arguments by their aliases, and takes no parameter whose own name begins with "_".
vars(keyed)["__signature__"] = Signature(
    [
        Parameter("text", Parameter.KEYWORD_ONLY, annotation=str),
        Parameter(
            "key",
            Parameter.KEYWORD_ONLY,
            annotation=Annotated[str, Field(alias="_idempotency_key")],
            default="none",
        ),
    ],
    return_annotation=str,
)
server.add_tool(keyed)


@server.tool()
async def grow(ctx: Context) -> str:
    """Add a tool to the server, and say so."""
    server.add_tool(add, name="added")
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()  # for clients of the older protocol
    return "grown"


@server.tool()
def told(text: str, ctx: Context) -> str:
    """Say what the call says, and which variables came with it."""
    meta = ctx.request_context.meta or {}
    return f"{text} {json.dumps(meta.get('orchestrator/env'), sort_keys=True)}"


@server.tool()
async def redescribe(ctx: Context, text: str) -> str:
    """Describe the tool `add` in another way from now on, and say so."""
    server.remove_tool("add")
    server.add_tool(add, description=text)
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()  # for clients of the older protocol
    return "redescribed"


@server.tool()
def environment() -> str:
    """The names of this process's variables."""
    return " ".join(sorted(os.environ))


@server.tool(name="_hidden")
def hidden() -> str:
    """Not for models."""
    return ""


@server.tool()
def health() -> str:
    """Not for models either."""
    return "ok"


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        server.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    elif sys.argv[1:2] == ["sse"]:
        server.run(transport="sse", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run()
