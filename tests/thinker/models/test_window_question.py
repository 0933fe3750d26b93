"""A server is asked for its window."""

from fakes.network import AnsweringNetwork, Asked, answered

from thinker.http.exchange import HttpAnswer, HttpError
from thinker.models.window_question import ask_window
from thinker.protocol.context_windows import ContextWindow, list_window_probes

PROBES = tuple(list_window_probes("http://127.0.0.1:1/v1", "m", local=True))


async def test_the_first_server_that_tells_the_window_is_believed() -> None:
    """Those before it do not exist here."""

    def answer(request: Asked) -> HttpAnswer:
        if request.url.endswith("/api/ps"):
            raise HttpError("no")
        if request.url.endswith("/v1/models"):
            return answered({"data": [{"id": "m", "max_model_len": 4096}]})
        return answered({}, 404)

    network = AnsweringNetwork(answer)
    found = await ask_window("vllm/m", "m", PROBES, {"a": "b"}, network)
    assert found == ContextWindow(
        model="vllm/m", tokens=4096, source="server", server="the provider"
    )
    assert {request.method for request in network.requests} == {"GET"}
    assert network.requests[0].headers == {"a": "b"}


async def test_a_question_by_post_is_put_only_to_a_server_that_is_known_to_take_it() -> None:
    """Ollama has loaded no model yet."""

    def answer(request: Asked) -> HttpAnswer:
        if request.url.endswith("/api/ps"):
            return answered({"models": []})
        if request.url.endswith("/api/show"):
            return answered({"parameters": "num_ctx 2048"})
        return answered({}, 404)

    network = AnsweringNetwork(answer)
    found = await ask_window("ollama/m", "m", PROBES, {}, network)
    assert found is not None
    assert found.tokens == 2048
    assert network.requests[-1].body == b'{"model":"m"}'


async def test_a_server_that_tells_nothing_leaves_the_window_open() -> None:
    """Whatever it answers."""
    network = AnsweringNetwork(lambda _: answered({}, 404))
    assert await ask_window("x/m", "m", PROBES, {}, network) is None
