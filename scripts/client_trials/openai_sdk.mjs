// OpenAI's client for Node.js.

import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import * as trial from "./trial.mjs";

const { agent: model, base, holds, offered, raised, same, token } = trial;
const client = new OpenAI({ baseURL: base, apiKey: token });
const chats = client.chat.completions;
const say = (text, ...parts) => [{ role: "user", content: [{ type: "text", text }, ...parts] }];
const url = (type, data) => `data:${type};base64,${data.toString("base64")}`;

async function chat() {
  const done = await chats.create({ model, messages: say("Hello") });
  same(done.choices[0].message.content, "I read: Hello");
  const found = [];
  for await (const listed of client.models.list()) found.push(listed.id);
  same(found, [model]);
}

async function stream() {
  const options = { stream: true, stream_options: { include_usage: true } };
  let text = "";
  let used = 0;
  for await (const chunk of await chats.create({ model, messages: say("Hello stream"), ...options })) {
    text += chunk.choices[0]?.delta.content ?? "";
    used = chunk.usage?.total_tokens ?? used;
  }
  same([text, used > 0], ["I read: Hello stream", true]);
}

async function tools() {
  const told = { ...offered, parse: JSON.parse, function: ({ city }) => `sun in ${city}` };
  const runnable = [{ type: "function", function: told }];
  for (const streamed of [false, true]) {
    const asked = { model, messages: say("weather?"), tools: runnable, stream: streamed };
    same(await chats.runTools(asked).finalContent(), "It is sun in Oslo.");
  }
}

async function form() {
  const response_format = zodResponseFormat(trial.Person, "person");
  const done = await chats.parse({ model, messages: say("Who is Ada?"), response_format });
  same(done.choices[0].message.parsed, trial.ada);
}

async function picture() {
  const part = { type: "image_url", image_url: { url: url("image/png", trial.picture) } };
  const done = await chats.create({ model, messages: say("What?", part) });
  holds(done.choices[0].message.content, "image/png;base64: a PNG");
}

async function pdf() {
  const file = { filename: "menu.pdf", file_data: url("application/pdf", trial.pdf) };
  const done = await chats.create({ model, messages: say("What?", { type: "file", file }) });
  holds(done.choices[0].message.content, "Tea costs 3 euros");
}

async function responses() {
  const ask = (fields) => client.responses.create({ model, ...fields });
  const first = await ask({ input: "Hello response" });
  same(first.output_text, "I read: Hello response");
  same((await ask({ input: "On", previous_response_id: first.id })).output_text, "I read: On");
  const called = await ask({ input: "weather?", tools: [{ type: "function", ...offered }] });
  const call = called.output.find((item) => item.type === "function_call");
  const result = { type: "function_call_output", call_id: call.call_id, output: "sun" };
  const done = await ask({ input: [result], previous_response_id: called.id });
  same(done.output_text, "It is sun.");
  const flow = client.responses.stream({ model, input: "Hello flow" });
  same((await flow.finalResponse()).output_text, "I read: Hello flow");
  const text = { format: zodTextFormat(trial.Person, "person") };
  const parsed = await client.responses.parse({ model, input: "Who is Ada?", text });
  same(parsed.output_parsed, trial.ada);
  same((await client.responses.retrieve(first.id)).output_text, first.output_text);
  await client.responses.delete(first.id);
  await raised(OpenAI.NotFoundError, () => client.responses.retrieve(first.id));
}

async function conversations() {
  const { id } = await client.conversations.create({ metadata: { topic: "tea" } });
  for (const input of ["Hello there", "And on"]) {
    const done = await client.responses.create({ model, input, conversation: id });
    same(done.output_text, `I read: ${input}`);
  }
  const said = [];
  for await (const item of client.conversations.items.list(id, { order: "asc" })) {
    if (item.type === "message") said.push(item.content[0].text);
  }
  same(said, ["Hello there", "I read: Hello there", "And on", "I read: And on"]);
  same((await client.conversations.retrieve(id)).metadata, { topic: "tea" });
  await client.conversations.delete(id);
  await raised(OpenAI.NotFoundError, () => client.conversations.retrieve(id));
}

async function embeddings() {
  for (const more of [{}, { encoding_format: "float" }]) {
    const found = await client.embeddings.create({ model, input: trial.texts, ...more });
    same(found.data.map((item) => item.embedding), trial.vectors);
  }
}

async function errors() {
  const wrong = new OpenAI({ baseURL: base, apiKey: "orc_wrong" });
  const refused = await raised(OpenAI.AuthenticationError, () => wrong.models.list());
  same(refused.code, "invalid_api_key");
  const unknown = { model: "none", messages: say("x") };
  same((await raised(OpenAI.NotFoundError, () => chats.create(unknown))).code, "model_not_found");
  const long = { model, messages: say("overlong") };
  const found = await raised(OpenAI.BadRequestError, () => chats.create(long));
  same(found.code, "context_length_exceeded");
}

async function repeat() {
  const again = new OpenAI({ baseURL: trial.lossy, apiKey: token });
  const headers = { [trial.key]: "openai-node" };
  const asked = { model, messages: say("count openai node") };
  const done = await again.chat.completions.create(asked, { headers });
  same(done.choices[0].message.content, "asked 1 times");
}

const checks = { chat, stream, tools, form, picture, pdf, responses, conversations, embeddings, errors, repeat };
await trial.report("openai", checks, "openai (Node)");
