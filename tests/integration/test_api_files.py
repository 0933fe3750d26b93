"""Files in requests: the official clients against the real daemon."""

from base64 import b64encode
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import openai
import pytest
from anthropic import AsyncAnthropic
from fakes import document_files
from fakes.api_client import Endpoints, endpoints
from fakes.held_model import HeldModel
from fakes.model_api import Received

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="api")]
PDF = b64encode(document_files.pdf("Tea costs 3 euros")).decode()
LOCKED = b64encode(document_files.locked_pdf()).decode()
URL = f"data:application/pdf;base64,{PDF}"
TOLD = "prices.pdf:\nTea costs 3 euros"


def told(request: Received) -> str:
    """What the user said, as the model was sent it."""
    return str(request.body["messages"][-1]["content"])


async def refusal(api: Endpoints, part: Any) -> str:
    """How a part of a chat completion is refused."""
    with pytest.raises(openai.BadRequestError) as refused:
        await api.client.chat.completions.create(
            model="work", messages=[{"role": "user", "content": [part]}]
        )
    return str(refused.value)


async def test_pdf_is_read_for_each_client(tmp_path: Path) -> None:
    """Chat completions, responses and messages each have parts of their own for it."""
    async with HeldModel() as model, endpoints(tmp_path, model) as api:
        file: Any = {"type": "file", "file": {"filename": "prices.pdf", "file_data": URL}}
        ask: Any = {"type": "text", "text": "What is in it?"}
        await api.client.chat.completions.create(
            model="work", messages=[{"role": "user", "content": [file, ask]}]
        )
        assert told(model.requests[-1]).startswith(TOLD)
        part: Any = {"type": "input_file", "filename": "prices.pdf", "file_data": URL}
        await api.client.responses.create(model="work", input=[{"role": "user", "content": [part]}])
        assert told(model.requests[-1]).startswith(TOLD)
        base = str(api.client.base_url).removesuffix("/v1/")
        async with AsyncAnthropic(api_key=api.client.api_key, base_url=base) as client:
            source: Any = {"type": "base64", "media_type": "application/pdf", "data": PDF}
            document: Any = {"type": "document", "title": "prices", "source": source}
            await client.messages.create(
                model="work", max_tokens=9, messages=[{"role": "user", "content": [document]}]
            )
        assert told(model.requests[-1]).startswith(TOLD)


async def test_files_that_come_at_once_are_all_read(tmp_path: Path) -> None:
    """The end of one reader's process leaves the others alone."""
    file: Any = {"type": "file", "file": {"filename": "prices.pdf", "file_data": URL}}
    asked: Any = [{"role": "user", "content": [file]}]
    async with (
        HeldModel() as model,
        endpoints(tmp_path, model) as api,
        anyio.create_task_group() as tasks,
    ):
        for _ in range(6):
            tasks.start_soon(
                partial(api.client.chat.completions.create, model="work", messages=asked)
            )
    assert [told(request) for request in model.requests] == [TOLD] * 6


async def test_file_that_cannot_be_read_is_refused_with_the_reason(tmp_path: Path) -> None:
    """And so are files that are only named, and more than a request may bring."""
    async with HeldModel() as model, endpoints(tmp_path, model) as api:
        locked = {"filename": "safe.pdf", "file_data": LOCKED}
        assert "safe.pdf: it is encrypted" in await refusal(api, {"type": "file", "file": locked})
        by_id = {"type": "file", "file": {"file_id": "file-1"}}
        assert "its id or address is not supported" in await refusal(api, by_id)
        broken = {"type": "file", "file": {"filename": "a.txt", "file_data": "abcde"}}
        assert "the file is not valid base64" in await refusal(api, broken)
        part = {"type": "input_file", "file_data": "eA==", "filename": "a.txt"}
        given: Any = [{"role": "user", "content": [part] * 21}]
        with pytest.raises(openai.BadRequestError, match="send at most 20 files"):
            await api.client.responses.create(
                model="work",
                input=given,
            )
        assert model.requests == []
