"""Ask a model's server how many tokens the model reads at once."""

from collections.abc import Mapping, Sequence

import orjson

from thinker.http.exchange import HttpError, Network
from thinker.protocol.context_windows import ContextWindow, WindowProbe

MAX_ANSWER = 4 * 1024 * 1024  # bytes; lists of models are long


async def ask_window(
    name: str,
    model: str,
    probes: Sequence[WindowProbe],
    headers: Mapping[str, str],
    network: Network | None,
) -> ContextWindow | None:
    """Return the window that the first of the ``probes`` tells, or None.

    ``name`` is the model with its provider. Without a ``network`` a client is opened and closed.
    """
    if network is not None:
        return await _ask_probes(name, model, probes, headers, network)
    # Workers with a broker need no client, and the import is large.
    from thinker.http.web_client import WebClient  # noqa: PLC0415 - see above

    client = WebClient(connect=2.0, read=5.0)
    try:
        return await _ask_probes(name, model, probes, headers, client)
    finally:
        client.close()


async def _ask_probes(
    name: str,
    model: str,
    probes: Sequence[WindowProbe],
    headers: Mapping[str, str],
    network: Network,
) -> ContextWindow | None:
    there = set[str]()  # servers that know the path of an earlier probe
    for probe in probes:
        posts = probe.method == "POST"
        if posts and probe.facts["server"] not in there:
            continue  # a question by POST is only for a server that is known to take it
        body = orjson.dumps({"model": model}) if posts else b""
        try:
            answer = await network.send(probe.method, probe.url, headers, body)
            content = await answer.read(MAX_ANSWER)
        except HttpError:
            continue
        if answer.is_success:
            there.add(probe.facts["server"])
            tokens = probe.read_tokens(content, model)
            if tokens:
                server = probe.facts["server"]
                return ContextWindow(model=name, tokens=tokens, source="server", server=server)
    return None
