"""The endpoints to which programs post requests for an agent, and what differs between them."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from orchestrator.extensions.http_api.anthropic_formatter import MessagesFormatter
from orchestrator.extensions.http_api.parsed_request import (
    ParsedRequest,
    parse_chat,
    parse_messages,
    parse_responses,
)
from orchestrator.extensions.http_api.pending_response import FormatterFactory
from orchestrator.extensions.http_api.response_formatters import ChatFormatter, ResponsesFormatter
from thinker.protocol.messages import JsonObject


class ApiDialect(NamedTuple):
    """How the body of a request is read, and its answer written."""

    parse: Callable[[JsonObject], ParsedRequest]
    formatter: FormatterFactory


DIALECTS: Mapping[str, ApiDialect] = {
    "/v1/chat/completions": ApiDialect(parse_chat, ChatFormatter),
    "/v1/responses": ApiDialect(parse_responses, ResponsesFormatter),
    "/v1/messages": ApiDialect(parse_messages, MessagesFormatter),
}
