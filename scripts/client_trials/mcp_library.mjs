// The official MCP client for Node.js, at /mcp and with the command that it starts.

import { Client, SdkHttpError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import * as trial from "./trial.mjs";

const { agent, holds, origin, same } = trial;
const tool = `ask_${agent}`;
const [command, ...args] = JSON.parse(process.env.TRIAL_COMMAND);

function overHttp(token = trial.token) {
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const url = new URL(`${origin(trial.base)}/mcp`);
  return new StreamableHTTPClientTransport(url, { requestInit });
}

const overStdio = () => new StdioClientTransport({ command, args });

async function connected(transport, act, mode = "auto") {
  const client = new Client({ name: "trial", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(transport);
  try {
    return await act(client);
  } finally {
    await client.close();
  }
}

function checks(transport, name) {
  const ask = (client, fields) => client.callTool({ name: tool, arguments: fields });

  async function chat() {
    await connected(transport(), async (client) => {
      const first = await ask(client, { message: "Hello" });
      same(first.content[0].text, "I read: Hello");
      const more = await ask(client, { message: "On", chat: first.structuredContent.chat });
      same(more.content[0].text, "I read: On");
    });
  }

  async function tools() {
    const look = async (client) => {
      const found = (await client.listTools()).tools.map((listed) => listed.name);
      same([tool, "list_chats"].filter((wanted) => !found.includes(wanted)), []);
      holds(JSON.stringify(await client.listResources()), "orchestrator://turns");
    };
    await connected(transport(), look, "legacy"); // with a handshake
  }

  async function errors() {
    await connected(transport(), async (client) => {
      const unknown = { name: "ask_none", arguments: { message: "x" } };
      const found = await client.callTool(unknown).catch((error) => error);
      holds(found instanceof Error ? found.message : JSON.stringify(found), "ask_none");
    });
    if (transport === overHttp) {
      const found = await connected(overHttp("orc_wrong"), () => "no error").catch((error) => error);
      same([found instanceof SdkHttpError, found.status], [true, 401]);
    }
  }

  async function repeat() {
    await connected(transport(), async (client) => {
      const sent = { message: `count ${name}`, message_id: name, chat: name };
      for (let time = 0; time < 2; time++) {
        same((await ask(client, sent)).content[0].text, "asked 1 times");
      }
    });
  }

  return { chat, tools, errors, repeat };
}

const name = "@modelcontextprotocol/client";
await trial.report(name, checks(overHttp, "node-http"), "mcp (Node), /mcp");
await trial.report(name, checks(overStdio, "node-stdio"), "mcp (Node), orchestrator mcp");
