"""Tell requests that a server certainly did not act on from those whose answer was lost.

The transports answer such a request themselves, with a code that no server is known to use.
"""

import mcp_types as types

NOT_TAKEN = -32987  # JSON-RPC leaves this number to applications
FORGOTTEN = "the server does not know its session any more"
ENDED = "the server ended before it got the request"


def build_unsent_answer(request: types.RequestId | None, why: str = ENDED) -> types.JSONRPCError:
    """Return the answer to a request that no server got."""
    error = types.ErrorData(code=NOT_TAKEN, message=why)
    return types.JSONRPCError(jsonrpc="2.0", id=request, error=error)
