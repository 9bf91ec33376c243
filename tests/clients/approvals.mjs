// An SDK client whose person answers questions in the middle of a call: node approvals.mjs KIND. Both answers, one after
// the other, from code and directly.
import assert from 'node:assert/strict';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { connect, execute } from './connect.mjs';

const kind = process.argv[2];
const asked = [];
let action;
const session = await connect(kind, { capabilities: { elicitation: {} } });
session.client.setRequestHandler(kind === 'v1' ? ElicitRequestSchema : 'elicitation/create', async request => {
  asked.push(request.params.message);
  return action === 'accept' ? { action, content: {} } : { action };
});

const code = `import warder
kept = list(range(1000))
try: result = [warder.call_tool("near__echo", text="hello"), sum(kept)]
except warder.CallError as e: result = [e.code, e.rule]`;
action = 'accept';
assert.deepEqual((await execute(session, code)).result, ['hello', 499500]);
action = 'decline';
assert.deepEqual((await execute(session, code)).result, ['denied', 'calls.careful']);
action = 'accept';
const direct = await session.call('call_tool', { name: 'near__echo', arguments: { text: 'again' } });
assert.deepEqual(direct.structuredContent, { result: 'again' });
action = 'cancel';
const refused = await session.call('call_tool', { name: 'near__echo', arguments: { text: 'again' } });
assert.equal(refused.isError, true);
assert.equal(asked.length, 4);
assert.match(asked[0], /tool: near\.echo\narguments: \{"text":"hello"\}/);
await session.close();
