// Streamable HTTP in front of a program that speaks JSON lines on its standard streams: for the official conformance
// suite, which knows only HTTP. A test tool, not a product: loopback only, no resumption of streams.
//
//   node http_proxy.mjs COMMAND [ARGUMENT...]      prints "http://127.0.0.1:PORT/mcp" once it listens
//
// 2026-07-28: every POST is a conversation of its own; it turns into an event stream at the first notification, and a
// client that hangs up cancels its request. Handshake versions: one program per Mcp-Session-Id; what the server says
// about a request goes out on the stream of that request.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { createInterface } from 'node:readline';

const command = process.argv.slice(2);
const META = 'io.modelcontextprotocol/';
const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i;
const CODE = { parse: -32700, method: -32601, params: -32602, header: -32020, capability: -32021, version: -32022 };

// ---- the program behind us

class Wire {
  constructor(onMessage) {
    this.child = spawn(command[0], command.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] });
    this.child.stdin.on('error', () => {});
    createInterface({ input: this.child.stdout, crlfDelay: Infinity }).on('line', line => {
      if (line.trim()) onMessage(JSON.parse(line));
    });
  }
  send(message) { this.child.stdin.write(JSON.stringify(message) + '\n'); }
  close() { this.child.stdin.end(); }
}

const isAnswer = message => message.id !== undefined && ('result' in message || 'error' in message);

// ---- replies

function reply(response, status, body, headers = {}) {
  if (response.headersSent) return;
  response.writeHead(status, body === undefined ? headers : { 'content-type': 'application/json', ...headers });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}
const errorBody = (id, code, message) =>
  ({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), error: { code, message } });

class EventStream {
  constructor(response, headers = {}) { this.response = response; this.headers = headers; }
  open() {
    if (this.response.headersSent) return;
    this.response.writeHead(200, {
      'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no', ...this.headers });
    this.response.flushHeaders();
  }
  put(message) {
    this.open();
    this.response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }
  end() { this.response.end(); }
}

// ---- 2026-07-28: headers that must say the same as the body

function decoded(header) {  // undefined: absent; null: broken
  if (header === undefined) return undefined;
  const value = header.trim();
  const encoded = /^=\?base64\?(.*)\?=$/s.exec(value)?.[1];
  if (encoded === undefined) return value;
  const whole = encoded.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(encoded);
  return whole ? Buffer.from(encoded, 'base64').toString('utf8') : null;
}

const NAMED = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri',
  'tasks/get': 'taskId', 'tasks/update': 'taskId', 'tasks/cancel': 'taskId' };

function* mirrored(schema, path = []) {  // the arguments a tool wants to see in Mcp-Param-* headers
  for (const [key, property] of Object.entries(schema?.properties ?? {})) {
    const name = property['x-mcp-header'];
    if (name) yield { header: `mcp-param-${name.toLowerCase()}`, path: [...path, key], type: property.type };
    yield* mirrored(property, [...path, key]);
  }
}

async function mismatch(headers, body) {
  const { method, params } = body;
  const version = params._meta[`${META}protocolVersion`];
  if (decoded(headers['mcp-protocol-version']) !== version) return 'MCP-Protocol-Version';
  if (decoded(headers['mcp-method']) !== method) return 'Mcp-Method';
  const named = params[NAMED[method]];
  if (named !== undefined && decoded(headers['mcp-name']) !== named) return 'Mcp-Name';
  if (method !== 'tools/call') return undefined;
  for (const { header, path, type } of mirrored(await schemaOf(params.name))) {
    const value = path.reduce((inside, key) => inside?.[key], params.arguments);
    const said = decoded(headers[header]);
    if (value === undefined || value === null) {
      if (said !== undefined) return header;
    } else if (typeof said !== 'string' || (type === 'integer' ? Number(said) !== value : said !== String(value))) {
      return header;
    }
  }
  return undefined;
}

function ask(method) {
  return new Promise(resolve => {
    const wire = new Wire(message => {
      if (!isAnswer(message)) return;
      wire.close();
      resolve(message.result);
    });
    const _meta = { [`${META}protocolVersion`]: '2026-07-28', [`${META}clientCapabilities`]: {} };
    wire.send({ jsonrpc: '2.0', id: 1, method, params: { _meta } });
  });
}
let listed;  // the fixture's tools never change in what matters here
async function schemaOf(name) {
  listed ??= ask('tools/list');
  return (await listed)?.tools.find(tool => tool.name === name)?.inputSchema;
}

function httpStatus(error) {
  if (error?.code === CODE.method) return 404;
  return [CODE.header, CODE.capability, CODE.version].includes(error?.code) ? 400 : 200;
}

async function modern(request, response, body) {
  if (body.id === undefined) return reply(response, 202);
  const meta = body.params?._meta;
  if (typeof meta?.[`${META}protocolVersion`] !== 'string' || typeof meta[`${META}clientCapabilities`] !== 'object')
    return reply(response, 400, errorBody(body.id, CODE.params, '_meta needs protocolVersion and clientCapabilities'));
  const wrong = await mismatch(request.headers, body);
  if (wrong) return reply(response, 400, errorBody(body.id, CODE.header, `${wrong} does not match the body`));

  const stream = new EventStream(response);
  let answered = false;
  const wire = new Wire(message => {
    if (!isAnswer(message) || message.id !== body.id) return stream.put(message);
    answered = true;
    if (response.headersSent) {
      stream.put(message);
      stream.end();
    } else {
      reply(response, httpStatus(message.error), message);
    }
    wire.close();
  });
  response.on('close', () => {
    if (answered) return;
    const params = { requestId: body.id, reason: 'disconnected' };
    wire.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
    wire.close();
  });
  wire.send(body);
}

// ---- handshake versions: sessions

class Session {
  constructor() {
    this.id = randomUUID();
    this.requests = new Map();  // request id -> its stream, oldest first
    this.progress = new Map();  // progress token -> stream
    this.listening = undefined; // the GET stream
    this.wire = new Wire(message => this.deliver(message));
  }
  deliver(message) {
    if (isAnswer(message)) {
      const stream = this.requests.get(message.id);
      this.requests.delete(message.id);
      stream?.put(message);
      stream?.end();
      return;
    }
    const newest = [...this.requests.values()].pop();
    const unasked = /list_changed$|^notifications\/resources\/updated$/.test(message.method);
    const usual = unasked ? this.listening ?? newest : newest ?? this.listening;
    const stream = this.progress.get(message.params?.progressToken) ?? usual;
    stream?.put(message);
  }
  post(body, response) {
    if (body.id === undefined || isAnswer(body)) {
      reply(response, 202);
    } else {
      const stream = new EventStream(response, { 'mcp-session-id': this.id });
      stream.open();
      this.requests.set(body.id, stream);
      const token = body.params?._meta?.progressToken;
      if (token !== undefined) this.progress.set(token, stream);
      response.on('close', () => this.requests.delete(body.id));
    }
    this.wire.send(body);
  }
  listen(response) {
    this.listening = new EventStream(response);
    this.listening.open();
    response.on('close', () => { this.listening = undefined; });
  }
}
const sessions = new Map();

function legacy(request, response, body) {
  const id = request.headers['mcp-session-id'];
  if (id === undefined && body.method !== 'initialize')
    return reply(response, 400, errorBody(undefined, -32000, 'no session'));
  let session = sessions.get(id);
  if (id !== undefined && !session) return reply(response, 404, errorBody(undefined, -32001, 'no such session'));
  if (!session) {
    session = new Session();
    sessions.set(session.id, session);
  }
  session.post(body, response);
}

// ---- HTTP

function foreign({ host, origin }) {  // DNS rebinding: a page of another site talks to us under a name of its own
  if (!LOOPBACK.test(host ?? '')) return 'Host';
  if (origin !== undefined && !(URL.canParse(origin) && LOOPBACK.test(new URL(origin).host))) return 'Origin';
  return undefined;
}

async function post(request, response) {
  const parts = [];
  for await (const part of request) parts.push(part);
  let body;
  try {
    body = JSON.parse(Buffer.concat(parts));
  } catch {
    return reply(response, 400, errorBody(undefined, CODE.parse, 'not JSON'));
  }
  const meta = body?.params?._meta;
  const isModern =
    meta?.[`${META}protocolVersion`] !== undefined || meta?.[`${META}clientCapabilities`] !== undefined ||
    (request.headers['mcp-protocol-version'] ?? '') >= '2026';
  return isModern ? modern(request, response, body) : legacy(request, response, body);
}

const server = http.createServer((request, response) => {
  const wrong = foreign(request.headers);
  if (wrong) return reply(response, 403, errorBody(undefined, -32000, `${wrong} is not of this machine`));
  if (request.method === 'POST') {
    post(request, response).catch(error => reply(response, 500, errorBody(undefined, -32603, String(error))));
    return undefined;
  }
  const session = sessions.get(request.headers['mcp-session-id']);
  if (request.method === 'GET' && session) return session.listen(response);
  if (request.method === 'DELETE' && session) {
    session.wire.close();
    sessions.delete(session.id);
    return reply(response, 200);
  }
  return reply(response, request.method === 'DELETE' ? 404 : 405);
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
