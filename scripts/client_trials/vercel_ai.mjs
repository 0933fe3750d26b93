// Vercel's AI SDK, with its providers for each of the three APIs.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, embedMany, generateText, isStepCount, Output, streamText, tool } from "ai";
import * as trial from "./trial.mjs";

const { agent, holds, raised, same } = trial;
const settings = (where, key) => ({ baseURL: where, apiKey: key, name: "agents" });
const more = { includeUsage: true, supportsStructuredOutputs: true };
const providers = {
  "@ai-sdk/openai-compatible": (where, key) =>
    createOpenAICompatible({ ...settings(where, key), ...more }),
  "@ai-sdk/openai": (where, key) => createOpenAI(settings(where, key)),
  "@ai-sdk/anthropic": (where, key) => createAnthropic(settings(where, key)),
};

function checks(name, provider) {
  const made = (id = agent, where = trial.base, key = trial.token) => provider(where, key)(id);
  const model = made();
  const show = (text, mediaType, data) => [
    { role: "user", content: [{ type: "text", text }, { type: "file", mediaType, data, filename: "x.pdf" }] },
  ];

  async function chat() {
    same((await generateText({ model, prompt: "Hello" })).text, "I read: Hello");
  }

  async function stream() {
    const done = streamText({ model, prompt: "Hello stream" });
    let text = "";
    for await (const delta of done.textStream) text += delta;
    const used = await done.usage;
    same([text, used.totalTokens > 0], ["I read: Hello stream", true]);
  }

  async function tools() {
    const get_weather = tool({
      description: "The weather in a city.",
      inputSchema: trial.City,
      execute: ({ city }) => `sun in ${city}`,
    });
    const asked = { model, prompt: "weather?", tools: { get_weather }, stopWhen: isStepCount(3) };
    same((await generateText(asked)).text, "It is sun in Oslo.");
    same(await streamText(asked).text, "It is sun in Oslo.");
  }

  async function form() {
    const output = Output.object({ schema: trial.Person });
    same((await generateText({ model, prompt: "Who is Ada?", output })).output, trial.ada);
  }

  async function picture() {
    const messages = show("What?", "image/png", trial.picture);
    holds((await generateText({ model, messages })).text, "image/png;base64: a PNG");
  }

  async function pdf() {
    const messages = show("What?", "application/pdf", trial.pdf);
    holds((await generateText({ model, messages })).text, "Tea costs 3 euros");
  }

  async function errors() {
    for (const [asked, prompt, status] of [
      [made(agent, trial.base, "orc_wrong"), "x", 401],
      [made("none"), "x", 404],
      [model, "overlong", 400],
    ]) {
      const found = await raised(APICallError, () => generateText({ model: asked, prompt }));
      same(found.statusCode, status);
    }
  }

  async function repeat() {
    const headers = { [trial.key]: name };
    const asked = { model: made(agent, trial.lossy), prompt: `count ${name}`, headers };
    same((await generateText(asked)).text, "asked 1 times");
  }

  return { chat, stream, tools, form, picture, pdf, errors, repeat };
}

async function responses() {
  const model = createOpenAI(settings(trial.base, trial.token)).responses(agent);
  const first = await generateText({ model, prompt: "Hello response" });
  same(first.text, "I read: Hello response");
  const previousResponseId = first.providerMetadata.openai.responseId;
  const providerOptions = { openai: { previousResponseId } };
  same((await generateText({ model, prompt: "On", providerOptions })).text, "I read: On");
}

const embeddings = (provider) => async () => {
  const model = provider(trial.base, trial.token).embeddingModel(agent);
  same((await embedMany({ model, values: trial.texts })).embeddings, trial.vectors);
};

for (const [name, provider] of Object.entries(providers)) {
  const found = checks(name, provider);
  if (name === "@ai-sdk/openai") found.responses = responses;
  if (name !== "@ai-sdk/anthropic") found.embeddings = embeddings(provider);
  await trial.report(name, found, `ai, ${name}`);
}
