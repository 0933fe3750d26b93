"""The server of embeddings: what it answers, whose turn it is, and the real engine in its jail."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from threading import Event, Thread

import anyio
import httpx
import pytest

from orchestrator.extensions.local_model import embedding_server
from orchestrator.extensions.local_model.embedding_server import COMMON, EmbeddingEngine
from orchestrator.extensions.local_model.llama_server import ADDRESS, MISSING


class CountingModel:
    """A model whose vectors are a text's length and its kind; ``held`` delays it."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.asked, self.held = Event(), Event()
        self.held.set()

    def query(self, texts: str) -> Sequence[float]:
        """Return the vector of a question."""
        return self._answer(texts, 3.0)

    def passage(self, texts: str) -> Sequence[float]:
        """Return the vector of another text."""
        return self._answer(texts, 1.0)

    def _answer(self, text: str, kind: float) -> Sequence[float]:
        self.texts.append(text)
        self.asked.set()
        self.held.wait()
        return (float(len(text)), kind)

    def token_count(self, text: str) -> int:
        """Return the number of words."""
        return len(text.split())


@contextmanager
def served(model: CountingModel) -> Iterator[httpx.Client]:
    """A client of a server in this process."""
    with embedding_server.EmbeddingListener(0) as listener:
        listener.engine = EmbeddingEngine(model)
        thread = Thread(target=listener.serve_forever)
        thread.start()
        try:
            with httpx.Client(base_url=f"http://{ADDRESS}:{listener.server_port}/v1") as client:
                yield client
        finally:
            listener.shutdown()
            thread.join()


def test_texts_are_answered_in_their_order_around_the_common_center() -> None:
    """As OpenAI's API does; a zero byte ends no text early."""
    model = CountingModel()
    with served(model) as client:
        body = {"model": embedding_server.MODEL, "input": ["passage: a b c", "query: x\0y", "abc"]}
        answer = client.post("/embeddings", json=body).json()
        alone = client.post("/embeddings", json=body | {"input": "a b c"}).json()
        listed = client.get("/models").json()
    mean = sum(len(text) for text in COMMON) / len(COMMON)
    assert [item["index"] for item in answer["data"]] == [0, 1, 2]
    assert [item["embedding"] for item in answer["data"]] == [
        pytest.approx(near) for near in ((5 - mean, 0), (3 - mean, 2), (3 - mean, 0))
    ]
    assert alone["data"][0]["embedding"] == answer["data"][0]["embedding"]
    assert answer["usage"] == {"prompt_tokens": 8, "total_tokens": 8}
    assert model.texts[-3] == "x y"
    assert listed["data"][0]["id"] == embedding_server.MODEL


def test_other_model_is_refused_with_the_name_of_this_one() -> None:
    """Another name would be sent without the prefixes of this model."""
    with served(CountingModel()) as client:
        refused = client.post("/embeddings", json={"model": "ada", "input": "a"})
    assert refused.status_code == 404
    assert embedding_server.MODEL in refused.json()["error"]["message"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"input": 5}',
        b'{"input": []}',
        b'{"input": ["a", 1]}',
        b'{"input": "a", "dimensions": 3}',
        b'{"input": ["\\ud800"]}',
        json.dumps({"input": ["a"] * 65}).encode(),
    ],
)
def test_bad_request_is_refused_and_the_next_one_served(body: bytes) -> None:
    """Whatever it holds."""
    with served(CountingModel()) as client:
        refused = client.post("/embeddings", content=body)
        assert refused.status_code == 400
        assert refused.json()["error"]["message"]
        assert client.post("/embeddings", json={"input": "a"}).status_code == 200


def test_large_bodies_and_other_paths_are_refused_unread() -> None:
    """Before a byte of them is read."""
    with served(CountingModel()) as client:
        with closing(HTTPConnection(str(client.base_url.netloc, "ascii"))) as connection:
            large = {"Content-Length": str(embedding_server.MAX_BODY + 1)}
            connection.request("POST", "/v1/embeddings", headers=large)
            assert connection.getresponse().status == 413
        assert client.post("/chat/completions", json={}).status_code == 404
        assert client.get("/").status_code == 404


def test_text_of_lately_is_not_embedded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the tools of each worker; not for ever, and a question is another text."""
    monkeypatch.setattr(embedding_server, "KEPT", 2)
    model = CountingModel()
    engine = EmbeddingEngine(model)
    model.texts.clear()
    first, _ = engine.embed_texts(["passage: one", "query: one", "passage: one"])
    assert first[0] == first[2] != first[1]
    engine.embed_texts(["two", "passage: one", "query: one"])
    assert model.texts == ["one", "one", "two", "one"]


def test_question_goes_before_the_rest_of_a_list() -> None:
    """So an answer never waits for all the messages that are being embedded."""
    model = CountingModel()
    engine = EmbeddingEngine(model)
    model.texts.clear()
    model.asked.clear()
    model.held.clear()
    slice_ = Thread(target=engine.embed_texts, args=(["one", "two", "three"],))
    question = Thread(target=engine.embed_texts, args=(["when?"],))
    slice_.start()
    model.asked.wait()
    question.start()
    while not engine.is_awaited():
        pass
    model.held.set()
    slice_.join()
    question.join()
    assert model.texts == ["one", "when?", "two", "three"]


@pytest.mark.process
async def test_server_without_its_engine_says_so() -> None:
    """By its exit code, before it answers anything."""
    code = (
        "import sys; from orchestrator.extensions.local_model import embedding_server as server;"
        " server.ENGINE = 'not_there_at_all'; sys.exit(server.serve_embeddings(0))"
    )
    done = await anyio.run_process([sys.executable, "-P", "-c", code], check=False)
    assert done.returncode == MISSING
