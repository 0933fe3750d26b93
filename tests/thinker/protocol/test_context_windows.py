"""Where servers say how many tokens a model reads at once."""

import json

import pytest

from thinker.protocol.context_windows import ContextWindow, list_window_probes

LOCAL = "http://127.0.0.1:8080/v1"


@pytest.mark.parametrize(
    ("path", "answer", "tokens"),
    [
        ("/props", {"default_generation_settings": {"n_ctx": 4096}}, 4096),
        ("/props", {"role": "router"}, None),
        ("/api/ps", {"models": [{"name": "m:latest", "context_length": 8192}]}, 8192),
        ("/api/ps", {"models": []}, None),
        ("/api/show", {"parameters": "stop x\nnum_ctx   2048"}, 2048),
        ("/api/show", {"model_info": {"llama.context_length": 131_072}}, None),
        (
            "/api/v1/models",
            {"models": [{"key": "m", "loaded_instances": [{"config": {"context_length": 4096}}]}]},
            4096,
        ),
        ("/api/v1/models", {"models": [{"key": "m", "loaded_instances": []}]}, None),
        ("/api/v0/models", {"data": [{"id": "m", "loaded_context_length": 4096}]}, 4096),
        ("/api/extra", {"value": 4096}, 4096),
        ("/v1/models", {"data": [{"id": "m", "max_model_len": 4096}]}, 4096),
        ("/v1/models", {"data": [{"id": "a"}, {"id": "m", "context_length": 4096}]}, 4096),
        ("/v1/models", {"data": [{"id": "m", "meta": {"n_ctx_train": 131_072}}]}, None),
        ("/v1/models", {"data": [{"id": "a", "context_window": 1}, {"id": "b"}]}, None),
        ("/v1/models", {"data": None}, None),
        ("/v1/models", ["m"], None),
    ],
)
def test_a_window_is_read_from_what_a_server_says(
    path: str, answer: object, tokens: int | None
) -> None:
    """The length that it was trained with is not the one that it runs with."""
    probes = list_window_probes(LOCAL, "m", local=True)
    probe = next(one for one in probes if one.url.partition(":8080")[2].startswith(path))
    assert probe.read_tokens(json.dumps(answer).encode(), "m") == tokens
    assert probe.read_tokens(b"<html>", "m") is None


def test_a_provider_far_away_is_asked_only_for_its_list_of_models() -> None:
    """The other questions are those of local servers."""
    probes = list_window_probes("https://openrouter.ai/api/v1", "x/y", local=False)
    assert [(probe.method, probe.url) for probe in probes] == [
        ("GET", "https://openrouter.ai/api/v1/models")
    ]


def test_people_read_a_window_with_where_it_is_known_from() -> None:
    """For `status` and `doctor`."""
    assert ContextWindow(model="m", tokens=4096, source="assumed").text == "4,096 (assumed)"
