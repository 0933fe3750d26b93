"""Special cases of Anthropic's events."""

import pytest

from orchestrator.extensions.anthropic.worker.anthropic_answer import AnthropicAnswer


def test_blocks_and_deltas_of_other_types_are_skipped() -> None:
    """Signatures, citations, server tools and redacted thinking add no text."""
    answer = AnthropicAnswer("anthropic", "m")
    for data in (
        b'{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking"}}',
        b'{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta"}}',
        b'{"type":"content_block_delta","index":9,"delta":{"partial_json":"{}"}}',
        b'{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"a"}}',
        b'{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}',
    ):
        assert not answer.feed(data)
    assert answer.finished
    assert answer.feed(b'{"type":"message_stop"}')
    response = answer.build_response("r")
    assert response.message.content == "a"
    assert response.message.tool_calls == ()
    assert (response.model, response.request_id) == ("anthropic/m", "r")


def test_a_call_cut_at_the_output_limit_is_malformed() -> None:
    """Its input could be half of what the model meant."""
    answer = AnthropicAnswer("anthropic", "m")
    block = b'{"type":"tool_use","id":"t","name":"send","input":{}}'
    delta = b'{"type":"input_json_delta","partial_json":"{\\"text\\": \\"ab"}'
    answer.feed(b'{"type":"content_block_start","index":0,"content_block":' + block + b"}")
    answer.feed(b'{"type":"content_block_delta","index":0,"delta":' + delta + b"}")
    answer.feed(b'{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}')
    assert answer.build_response("").message.tool_calls[0].malformed == '{"text": "ab'


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"5", b"[5]"])
def test_what_is_no_object_is_refused(data: bytes) -> None:
    """The endpoint skips it, and fails if nothing else comes."""
    with pytest.raises(ValueError, match=r".+"):
        AnthropicAnswer("anthropic", "m").feed(data)


@pytest.mark.parametrize("data", [b"{}", b'{"type":"completion"}', b'{"type":"vertex_event"}'])
def test_events_of_unknown_types_are_skipped_and_counted(data: bytes) -> None:
    """Proxies add events of their own."""
    answer = AnthropicAnswer("anthropic", "m")
    assert not answer.feed(data)
    assert (answer.skipped, answer.finished) == (1, False)
