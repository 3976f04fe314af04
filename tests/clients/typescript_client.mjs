// Plays a short round with the TypeScript SDK's client and prints what it saw as one JSON object.
// Arguments: the folder node_modules, the server's command and its arguments.
import { createRequire } from "node:module";
import { join } from "node:path";

const [modules, command, ...args] = process.argv.slice(2);
const require = createRequire(join(modules, "nothing.js"));
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");

const client = new Client({ name: "typescript", version: "0" }, { capabilities: {} });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
const said = [];
const onprogress = ({ message }) => said.push(message);
const call = (name, given) =>
  client.callTool({ name, arguments: given }, undefined, { onprogress, resetTimeoutOnProgress: true, timeout: 60000 });

const opened = await call("open_problem", { reference: "seed:matmul" });
const refused = await call("verify_kernel", { problem: "none" });
const { tools } = await client.listTools();
const { prompts } = await client.listPrompts();
const index = await client.readResource({ uri: "anvil://index" });
const prompt = await client.getPrompt({ name: "optimize", arguments: { problem: "matmul" } });
console.log(
  JSON.stringify({
    instructions: client.getInstructions(),
    tools: tools.map((tool) => tool.name),
    prompts: prompts.map((one) => one.name),
    opened: opened.structuredContent ?? opened.content,
    refused: refused.isError ? refused.content[0].text : null,
    index: index.contents[0].text,
    prompt: prompt.messages[0].content.text,
    progress: said,
  }),
);
await client.close();
