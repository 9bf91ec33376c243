// One face for the official clients: connect(kind) gives { list, call, close, era, ... } over `warder mcp`; or over HTTP
// with a token, if WARDER_URL and WARDER_TOKEN are set.
// Kinds: v1 (SDK 1.x, legacy only), v2-legacy, v2-modern, v2-auto (SDK 2.x, which probes and then chooses).
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';

const identity = { name: 'warder-tests', version: '1' };
const modes = { 'v2-legacy': 'legacy', 'v2-modern': { pin: '2026-07-28' }, 'v2-auto': 'auto' };
export const kinds = ['v1', ...Object.keys(modes)];

function httpTransport(v1) {
  const options = { requestInit: { headers: { Authorization: `Bearer ${process.env.WARDER_TOKEN}` } } };
  const url = new URL(process.env.WARDER_URL);
  return v1 ? new HttpV1(url, options) : new HttpV2(url, options);
}

export async function connect(kind, options = {}) {
  const args = ['mcp', '--socket', process.env.WARDER_SOCKET];
  const server = { command: process.env.WARDER, args, stderr: 'inherit' };
  const v1 = kind === 'v1';
  const overHttp = Boolean(process.env.WARDER_URL);
  const transport = overHttp ? httpTransport(v1) : v1 ? new StdioV1(server) : new StdioV2(server);
  const client = v1
    ? new ClientV1(identity, options)
    : new ClientV2(identity, { versionNegotiation: { mode: modes[kind] }, ...options });
  const problems = [];
  client.onerror = error => problems.push(String(error));
  await client.connect(transport);
  return {
    client,
    problems,  // what the client complained about: lines it could not use, progress nobody asked for
    era: v1 ? 'legacy' : client.getProtocolEra(),
    proxy: overHttp ? undefined : transport.pid,
    list: async () => (await client.listTools()).tools,
    // Resolves to the raw result; isError is a result too.
    call: (name, args = {}, { timeout = 120_000, ...more } = {}) =>
      v1 ? client.callTool({ name, arguments: args }, undefined, { timeout, ...more })
         : client.callTool({ name, arguments: args }, { timeout, ...more }),
    close: () => client.close(),
  };
}

// What execute_code answered: compact JSON in its first text block.
export const answerOf = result => JSON.parse(result.content[0].text);
export const execute = async (session, code, args = {}, options = {}) =>
  answerOf(await session.call('execute_code', { code, ...args }, options));
