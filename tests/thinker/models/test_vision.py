"""Which models get pictures, and what the others get."""

import pytest
from fakes.scripted import ScriptedModel, says

from thinker.models.base import ModelRequest
from thinker.models.vision import VisionFilter, can_see_images
from thinker.protocol.messages import Image, Message, UserMessage
from thinker.worker_errors import ContextOverflowError, FatalModelError

LOOK = UserMessage(content="look", images=(Image(media_type="image/png", data="QUJD"),))
DESCRIBED = UserMessage(content="look\n[image: image/png]")


def request(*messages: Message) -> ModelRequest:
    """Return a request with these messages."""
    return ModelRequest(system="", messages=messages)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-sonnet-4-5", True),
        ("claude-2.1", False),
        ("gpt-4.1-mini", True),
        ("gpt-3.5-turbo", False),
        ("gpt-5", True),
        ("o3", True),
        ("o3-mini", False),
        ("meta-llama/llama-4-scout-17b-16e-instruct", True),
        ("llama-3.1-8b-instant", False),
        ("llama3.2-vision", True),
        ("qwen/qwen3-32b", False),
        ("qwen2.5vl:7b", True),
        ("qwen/qwen3-vl-30b", True),
        ("google/gemini-2.5-flash", True),
        ("gemma3:12b", True),
        ("demo", False),
    ],
)
def test_models_that_see_are_known_by_name_and_the_setting_wins(
    model: str, *, expected: bool
) -> None:
    """The setting corrects a wrong guess."""
    assert can_see_images(model, "auto") is expected
    assert can_see_images(model, "on")
    assert not can_see_images(model, "off")


def test_long_name_of_a_model_is_looked_at_once() -> None:
    """With a pattern that begins again at each version this would take minutes."""
    assert can_see_images("grok-2" * 100_000, "auto") is False


async def test_model_that_sees_nothing_is_told_what_there_is() -> None:
    """A model with vision gets the picture."""
    for can, sent in ((True, LOOK), (False, DESCRIBED)):
        model = ScriptedModel(says("ok"))
        await VisionFilter(model, sees=can).complete(request(LOOK))
        assert [asked.messages for asked in model.requests] == [(sent,)]


async def test_only_the_message_with_the_picture_did_without_it() -> None:
    """A picture of an earlier message was told with that one."""
    for messages, count in (((LOOK,), 1), ((LOOK, UserMessage(content="and now?")), 0)):
        response = await VisionFilter(ScriptedModel(says("ok")), sees=False).complete(
            request(*messages)
        )
        assert [lost.kind for lost in response.degraded] == ["message"] * count


async def test_refused_picture_does_not_end_the_conversation() -> None:
    """The model is called again without; other failures are raised."""
    model = ScriptedModel(FatalModelError("400: cannot process image"), says("ok"))
    response = await VisionFilter(model, sees=True).complete(request(LOOK))
    assert response.message.content == "ok"
    (lost,) = response.degraded
    assert lost.what == "was described to scripted/model, which does not see it"
    assert lost.words == "400: cannot process image"
    assert [asked.messages for asked in model.requests] == [(LOOK,), (DESCRIBED,)]
    for error, sent in ((FatalModelError("401"), DESCRIBED), (ContextOverflowError("long"), LOOK)):
        refusing = ScriptedModel(error)
        with pytest.raises(type(error)):
            await VisionFilter(refusing, sees=True).complete(request(sent))
        assert len(refusing.requests) == 1
