"""What the model reads of a tool's answer."""

from base64 import b64encode

import pytest
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from orchestrator.extensions.mcp_client.toolhost.content import MAX_RESULT, build_tool_answer
from thinker.formats.images import MAX_MEDIA
from thinker.protocol.messages import Image

DATA = b64encode(b"12345").decode()


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (TextContent(type="text", text="hello"), "hello"),
        (
            ImageContent(type="image", data=DATA, mime_type="image/png"),
            "[image: image/png, 5 bytes]",
        ),
        (
            AudioContent(type="audio", data="no base64", mime_type="audio/ogg"),
            "[audio: audio/ogg, 6 bytes]",
        ),
        (ResourceLink(type="resource_link", name="n", uri="file:///a"), "[resource: file:///a]"),
        (
            EmbeddedResource(
                type="resource", resource=TextResourceContents(uri="file:///a", text="inside")
            ),
            "inside",
        ),
        (
            EmbeddedResource(
                type="resource", resource=BlobResourceContents(uri="file:///a", blob="no base64")
            ),
            "[resource: file:///a, 6 bytes]",
        ),
    ],
)
def test_every_kind_of_content_becomes_text(block: ContentBlock, text: str) -> None:
    """Other content is named with its type and size."""
    assert build_tool_answer(CallToolResult(content=[block])).content == text


def test_picture_of_a_known_format_goes_along() -> None:
    """The bytes decide: a wrong media type is corrected, other data becomes a note."""
    png = b64encode(b"\x89PNG\r\n\x1a\n").decode()
    blocks: list[ContentBlock] = [
        TextContent(type="text", text="here:"),
        ImageContent(type="image", data=png, mime_type="image/jpeg"),
        ImageContent(type="image", data="no base64", mime_type="image/png"),
    ]
    made = build_tool_answer(CallToolResult(content=blocks))
    assert made.content == "here:\n[image: image/png, 6 bytes]"
    assert made.images == (Image(media_type="image/png", data=png, about="image/png, 8 bytes"),)


def test_files_go_along_with_their_names_as_far_as_they_fit() -> None:
    """A sound has none; what is too large for the wire becomes a note."""
    large = b64encode(bytes(MAX_MEDIA - 5)).decode()
    uris = ("file:///made/sum%20of%0Ait.pdf", "file:///large.bin", "file:///")
    blobs = [
        EmbeddedResource(type="resource", resource=BlobResourceContents(uri=uri, blob=data))
        for uri, data in zip(uris, (DATA, large, DATA), strict=True)
    ]
    sound = AudioContent(type="audio", data=DATA, mime_type="audio/wav")
    made = build_tool_answer(CallToolResult(content=[*blobs[:2], sound, blobs[2]]))
    assert [(file.name, file.data) for file in made.files] == [
        ("sum of\nit.pdf", DATA),
        ("large.bin", large),
    ]
    assert made.content == "[audio: audio/wav, 5 bytes]\n[resource: file:///, 5 bytes]"
    (heard,) = build_tool_answer(CallToolResult(content=[sound])).files
    assert heard.name == "audio.wav"


def test_texts_are_joined_and_win_over_structured_content() -> None:
    """Servers often send the same result again as text."""
    texts: list[ContentBlock] = [TextContent(type="text", text=text) for text in ("a", "b")]
    result = CallToolResult(content=texts, structured_content={"x": 1})
    assert build_tool_answer(result).content == "a\nb"


def test_structured_content_alone_is_json() -> None:
    """It is the result when there is no text."""
    assert (
        build_tool_answer(CallToolResult(content=[], structured_content={"x": [1]})).content
        == '{"x":[1]}'
    )


def test_error_stays_an_error() -> None:
    """The model can then see that it failed."""
    block = TextContent(type="text", text="no")
    assert build_tool_answer(CallToolResult(content=[block], is_error=True)).is_error


def test_long_result_is_cut_with_a_note() -> None:
    """At a character boundary; invalid UTF-8 is replaced."""
    block = TextContent(type="text", text="ü" * MAX_RESULT + "\ud800")
    text = build_tool_answer(CallToolResult(content=[block])).content
    kept, note = text.split("\n")
    assert kept == "ü" * (MAX_RESULT // 2)
    assert note == f"[cut: the result has {2 * MAX_RESULT + 1} bytes, {MAX_RESULT} are kept]"
