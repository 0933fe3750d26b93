"""What a refusal is about, by its words."""

import pytest

from thinker.models.refused_parts import find_refused_part, may_be_history


@pytest.mark.parametrize(
    "words",
    [
        "Invalid schema for function 'a': schema must have type 'object'",
        "tools.3.custom.input_schema: input_schema does not support oneOf",
        "Unknown name \"$ref\" at 'tools[0].function_declarations[14].parameters'",
        "tools.function.parameters is not a valid moonshot flavored json schema",
        "toolConfig.tools.0.toolSpec.inputSchema.json.type must be object",
        "invalid JSON schema for tool a, tools[0].function.parameters: bad",
        "JSON schema conversion failed: Unrecognized schema",
        "The tool's parameters are not valid",
    ],
)
def test_a_refused_schema_is_known(words: str) -> None:
    """In the words of OpenAI, Anthropic, Gemini, Moonshot, Bedrock, Groq and llama.cpp."""
    assert find_refused_part(400, words) == "schema"
    assert find_refused_part(429, words) is None


@pytest.mark.parametrize(
    "words",
    [
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`",
        "Function call is missing a thought_signature in functionCall parts",
        "Expected last role User or Tool (or Assistant with prefix True) for serving",
        "This model does not support assistant message prefill.",
        "tool_use ids were found without tool_result blocks immediately after",
        "Conversation roles must alternate user/assistant/user/assistant/...",
        "messages: text content blocks must be non-empty",
        "Item 'rs_1' of type 'reasoning' was provided without its required following item",
        "'messages.2' : for 'role:assistant' property 'reasoning' is unsupported",
    ],
)
def test_a_refused_history_is_known(words: str) -> None:
    """In the words of DeepSeek, Anthropic, Gemini, Mistral, templates, OpenAI and Groq."""
    assert find_refused_part(400, words) == "history"


def test_a_fault_of_a_template_is_a_refusal_and_other_faults_are_not() -> None:
    """llama.cpp answers 500 where the conversation does not fit the template."""
    assert find_refused_part(500, "Jinja Exception: Conversation roles must alternate") == "history"
    assert find_refused_part(500, "messages[1] could not be stored") is None


def test_words_about_messages_are_a_suspicion_alone() -> None:
    """Where nothing else explains the refusal."""
    assert may_be_history(400, "the assistant turn is not acceptable")
    assert not may_be_history(402, "no credit for this conversation")
    assert not may_be_history(400, "max_tokens must be at most 8")
