// Anthropic's client for Node.js.

import Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import * as trial from "./trial.mjs";

const { agent: model, base, holds, origin, raised, same, token } = trial;
const client = new Anthropic({ baseURL: origin(base), apiKey: token });
const asked = (text, ...blocks) => {
  const content = [...blocks, { type: "text", text }];
  return { model, max_tokens: 99, messages: [{ role: "user", content }] };
};
const base64 = (media_type, data) => ({ type: "base64", media_type, data: data.toString("base64") });

async function chat() {
  const done = await client.messages.create({ ...asked("Hello"), system: "Be brief." });
  same(done.content[0].text, "I read: Hello");
  const found = [];
  for await (const listed of client.models.list()) found.push(listed.id);
  same(found, [model]);
}

async function stream() {
  const events = client.messages.stream(asked("Hello stream"));
  let text = "";
  events.on("text", (more) => (text += more));
  const done = await events.finalMessage();
  same([text, done.usage.output_tokens > 0], ["I read: Hello stream", true]);
}

async function tools() {
  const tool = betaZodTool({
    name: "get_weather",
    description: "The weather in a city.",
    inputSchema: trial.City,
    run: ({ city }) => `sun in ${city}`,
  });
  const run = client.beta.messages.toolRunner({ ...asked("weather?"), tools: [tool] });
  same((await run).content[0].text, "It is sun in Oslo.");
}

async function form() {
  const output_config = { format: zodOutputFormat(trial.Person) };
  const done = await client.messages.parse({ ...asked("Who is Ada?"), output_config });
  same(done.parsed_output, trial.ada);
}

async function picture() {
  const block = { type: "image", source: base64("image/png", trial.picture) };
  const done = await client.messages.create(asked("What?", block));
  holds(done.content[0].text, "image/png;base64: a PNG");
}

async function pdf() {
  const block = { type: "document", source: base64("application/pdf", trial.pdf) };
  const done = await client.messages.create(asked("What?", block));
  holds(done.content[0].text, "Tea costs 3 euros");
}

async function errors() {
  const wrong = new Anthropic({ baseURL: origin(base), apiKey: "orc_wrong" });
  const refused = await raised(Anthropic.AuthenticationError, () => wrong.models.list());
  same(refused.type, "authentication_error");
  const unknown = { ...asked("x"), model: "none" };
  const found = await raised(Anthropic.NotFoundError, () => client.messages.create(unknown));
  same(found.type, "not_found_error");
  const long = await raised(Anthropic.BadRequestError, () =>
    client.messages.create(asked("overlong")),
  );
  same([long.type, Boolean(long.requestID)], ["invalid_request_error", true]);
  holds(long.message, "prompt is too long");
}

async function repeat() {
  const again = new Anthropic({ baseURL: origin(trial.lossy), apiKey: token });
  const headers = { [trial.key]: "anthropic-node" };
  const done = await again.messages.create(asked("count anthropic node"), { headers });
  same(done.content[0].text, "asked 1 times");
}

const checks = { chat, stream, tools, form, picture, pdf, errors, repeat };
await trial.report("@anthropic-ai/sdk", checks, "anthropic (Node)");
