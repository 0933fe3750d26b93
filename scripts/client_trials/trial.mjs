// What the trials of JavaScript clients share: where to ask, what with, and telling what works.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const env = process.env;
export const base = env.TRIAL_URL; // with /v1, as OpenAI's clients take it
export const lossy = env.TRIAL_LOSSY_URL; // the same, where the first answer to each key is lost
export const token = env.TRIAL_TOKEN;
export const picture = readFileSync(join(env.TRIAL_HOME, "dot.png"));
export const pdf = readFileSync(join(env.TRIAL_HOME, "menu.pdf"));
export const agent = "work";
export const key = "Idempotency-Key";
export const Person = z.object({ name: z.string(), age: z.number().int() });
export const ada = { name: "Ada", age: 36 };
export const City = z.object({ city: z.string() });
export const texts = ["a", "bb"];
export const vectors = [[0, 1, 0], [0, 0, 1]]; // theirs
export const offered = {
  name: "get_weather",
  description: "The weather in a city.",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
  },
};

/** Return an address as Anthropic's client takes it. */
export const origin = (url) => url.replace(/\/v1$/, "");

export const same = (found, wanted) => assert.deepEqual(found, wanted);

export const holds = (text, part) => assert.ok(String(text).includes(part), `${text} without ${part}`);

/** Return the error that a call is rejected with; it must be of this class. */
export async function raised(kind, ask) {
  try {
    await ask();
  } catch (error) {
    assert.ok(error instanceof kind, `${error?.name}: ${error}, not ${kind.name}`);
    return error;
  }
  throw new Error(`no ${kind.name}`);
}

/** Run the checks at the same time, and print a line of JSON for each. */
export async function report(name, checks, client = name) {
  const file = join(import.meta.dirname, "node_modules", name, "package.json");
  const { version } = JSON.parse(readFileSync(file, "utf-8"));
  const reasons = await Promise.all(Object.values(checks).map(reason));
  Object.keys(checks).forEach((what, index) =>
    console.log(JSON.stringify({ client, version, what, no: reasons[index] })),
  );
}

async function reason(check) {
  try {
    await check();
    return null;
  } catch (error) {
    return `${error?.name}: ${error?.message}`.slice(0, 400);
  }
}
