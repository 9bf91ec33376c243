// What every official client must be able to do with Warder: node cases.mjs KIND. One connection, like an agent's.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { answerOf, connect, execute } from './connect.mjs';

const kind = process.argv[2];
const overHttp = Boolean(process.env.WARDER_URL);
const REFUSED_OVER_HTTP = /"code":-32600|fetch failed/;
let session;

describe(`client ${kind}`, { timeout: 240_000 }, () => {
  before(async () => { session = await connect(kind); });
  after(async () => {
    const proxy = session.proxy;
    await session.close();
    if (proxy) assert.throws(() => process.kill(proxy, 0), 'the proxy ended with its client');
  });

  it('negotiates the era it should', () => {
    assert.equal(session.era, kind === 'v2-modern' || kind === 'v2-auto' ? 'modern' : 'legacy');
    assert.equal(session.client.getServerVersion().name, 'warder');
    const instructions = session.client.getInstructions();
    assert.ok(instructions.length > 0 && instructions.length <= 2048);
  });

  it('lists the tools in a fixed order', async () => {
    const names = (await session.list()).map(tool => tool.name);
    assert.ok(names.includes('execute_code'));
    assert.deepEqual((await session.list()).map(tool => tool.name), names);
    for (const name of names) assert.match(name, /^[A-Za-z0-9_.-]{1,54}$/);
  });

  it('runs a program and reads output and result', async () => {
    const result = await session.call('execute_code', { code: 'print("héllo", 6 * 7)\nresult = {"a": [1, None]}' });
    assert.ok(!result.isError);
    assert.equal(result.structuredContent, undefined);
    const answer = answerOf(result);
    assert.equal(answer.success, true);
    assert.equal(answer.outcome, 'ok');
    assert.deepEqual(answer.output, ['héllo 42']);
    assert.deepEqual(answer.result, { a: [1, null] });
    assert.ok(answer.execution_id);
    assert.equal(result._meta?.['org.warder/receipt'], undefined, 'nobody asked for the receipt');
    const { contents } = await session.client.readResource({ uri: `exec:///${answer.execution_id}/receipt` });
    assert.ok(JSON.parse(contents[0].text).namespaces, 'it is a resource');
  });

  it('gives the program its variables', async () => {
    const answer = await execute(session, 'result = sorted(names)', { context_vars: { names: ['b', 'ä', 'a'] } });
    assert.deepEqual(answer.result, ['a', 'b', 'ä']);
  });

  it('reads a failure as a tool error with the traceback', async () => {
    const result = await session.call('execute_code', { code: 'x = 1\n1/0' });
    assert.equal(result.isError, true);
    const answer = answerOf(result);
    assert.equal(answer.outcome, 'error');
    assert.match(answer.error, /ZeroDivisionError/);
    assert.match(answer.traceback, /1\/0/);
  });

  it('learns which argument was wrong', async () => {
    const result = await session.call('execute_code', { code: 'pass', timeout_seconds: 'soon' });
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, /timeout_seconds/);
  });

  it('gets an error for a tool that does not exist', async () => {
    await assert.rejects(session.call('no_such_tool'), error => error.code === -32602);
  });

  it('has a hundred calls at once, one of them slow, and gets each its own answer', async () => {
    const waits = ['import os, time', 'while not os.path.exists("/workspace/go-on"): time.sleep(0.01)', 'print("slow")'];
    const slow = execute(session, waits.join('\n'));
    let slowDone = false;
    slow.then(() => { slowDone = true; });
    const quick = Array.from({ length: 99 }, (_, i) => i % 10 === 0
      ? execute(session, `print(${i})`).then(answer => assert.deepEqual(answer.output, [String(i)]))
      : session.call('list_workspace_files', {}).then(result => assert.ok(!result.isError)));
    await Promise.all(quick);
    assert.equal(slowDone, false, 'the slow one did not hold up the others');
    assert.ok(!(await session.call('write_workspace_file', { filename: 'go-on', content: '' })).isError);
    assert.deepEqual((await slow).output, ['slow']);
  });

  it('has a hundred programs at once, and every one of them runs', async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => execute(session, `result = ${i}`)));
    assert.deepEqual(answers.map(answer => answer.result), Array.from({ length: 100 }, (_, i) => i));
  });

  it('hears of a request that cannot be read, instead of waiting for its own time-out', async () => {
    let deep = 1;
    for (let i = 0; i < 80; i++) deep = [deep];
    // Over HTTP the answer has an error status, and a server that has answered reads no 17 MiB more.
    const refused = error => error.code === -32600 || (overHttp && REFUSED_OVER_HTTP.test(error.message));
    await assert.rejects(execute(session, '1', { context_vars: { deep } }), refused);
    const flood = { many: Array.from({ length: 900_000 }, () => []) };
    await assert.rejects(execute(session, '1', { context_vars: flood }), refused);
    await assert.rejects(execute(session, '1', { context_vars: { long: 'x'.repeat(17 << 20) } }), refused);
  });

  it('gives a program a quarter of a million numbers', async () => {
    const numbers = Array.from({ length: 250_000 }, (_, i) => i / 4);
    assert.deepEqual((await execute(session, 'len(numbers), numbers[-1]', { context_vars: { numbers } })).result,
      [250_000, 62_499.75]);
  });

  it('gets a picture as a picture, and a text once', async () => {
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    await session.call('write_workspace_file', { filename: 'pixel.png', content: pixel, encoding: 'base64' });
    const shown = await session.call('read_workspace_file', { filename: 'pixel.png' });
    assert.deepEqual(shown.content.map(block => block.type), ['text', 'image']);
    assert.equal(shown.structuredContent, undefined, 'a client that prefers it would drop the picture');
    await session.call('write_workspace_file', { filename: 'long.txt', content: 'x'.repeat(1 << 20) });
    const read = await session.call('read_workspace_file', { filename: 'long.txt', limit: 1 << 20 });
    assert.equal(answerOf(read).content.length, 1 << 20);
    assert.ok(JSON.stringify(read).length < 1.1 * (1 << 20));
  });

  it('reads folders as resources', async () => {
    await session.call('write_workspace_file', { filename: 'folder/inside.txt', content: 'x' });
    const { contents } = await session.client.readResource({ uri: 'workspace:///folder' });
    assert.deepEqual(JSON.parse(contents[0].text).files, ['folder/inside.txt']);
    const root = await session.client.readResource({ uri: 'workspace:///' });
    assert.ok(JSON.parse(root.contents[0].text).files.includes('folder/inside.txt'));
  });

  it('sees progress in order, and none after the answer', async () => {
    const seen = [];
    let answered = false, late = 0;
    const onprogress = progress => { if (answered) late++; seen.push(progress); };
    const steps = 'import time\nfor i in range(12):\n  print("step", i, flush=True)\n  time.sleep(0.2)';
    const answer = await execute(session, steps, {}, { onprogress });
    answered = true;
    assert.equal(answer.output.length, 12);
    assert.ok(seen.length >= 3, `only ${seen.length} notifications in 2.4 s`);
    for (let i = 1; i < seen.length; i++) assert.ok(seen[i].progress > seen[i - 1].progress, JSON.stringify(seen));
    assert.ok(seen.some(progress => /step \d/.test(progress.message ?? '')), 'the last line of output is shown');
    await session.call('list_workspace_files', {});
    assert.equal(late, 0);
  });

  it('cancels a running program, which then really is gone', async () => {
    const abort = new AbortController();
    // Renamed into place: a kill between truncating and writing would leave an empty file.
    const beat = ['import os, time, itertools', 'for i in itertools.count():',
      '  with open("/workspace/next", "w") as file: file.write(str(i))',
      '  os.replace("/workspace/next", "/workspace/beat")',
      '  print(i, flush=True)', '  time.sleep(0.02)'].join('\n');
    // The first progress may tell of a program that has not begun.
    const onprogress = progress => { if (/^\d+$/.test(progress.message ?? '')) abort.abort('enough'); };
    await assert.rejects(session.call('execute_code', { code: beat }, { signal: abort.signal, onprogress }));
    // Its end follows the cancellation, and a warm jail starts sooner than another is killed: until two looks agree.
    const look = ['import time', 'for _ in range(10):', '  at = open("/workspace/beat").read()', '  time.sleep(0.5)',
      '  result = [at, open("/workspace/beat").read()]', '  if result[0] == result[1]: break'].join('\n');
    const still = await execute(session, look);
    assert.equal(still.success, true, JSON.stringify(still));
    assert.ok(still.result[0] !== '', 'it had run');
    assert.equal(still.result[0], still.result[1], 'and runs no longer');
  });

  it('survives nine megabytes of output', async () => {
    const flood = 'line = "x" * 99\nfor i in range(9 * 10486): print(line)';
    const result = await session.call('execute_code', { code: flood });
    const text = result.content[0].text;
    assert.ok(text.length < 8 << 20, `an answer of ${text.length} bytes`);
    const answer = JSON.parse(text);
    assert.equal(answer.truncated.stdout.bytes, 9 * 10486 * 100);
    assert.deepEqual((await execute(session, 'print("still here")')).output, ['still here']);
  });

  it('sends a program of a megabyte', async () => {
    const answer = await execute(session, `text = ${JSON.stringify('y'.repeat(1 << 20))}\nprint(len(text))`);
    assert.deepEqual(answer.output, [String(1 << 20)]);
  });

  it('had nothing to complain about', async () => {
    await delay(0);
    // Over HTTP the refusals are told there, too. SDK 1.x tries to resume the stream of a call that it has cancelled, and
    // the session does not know that stream any more. SDKs take an answer before the progress that came with it.
    const expected = problem => /progress notification for an unknown token/.test(problem) || (overHttp &&
      (REFUSED_OVER_HTTP.test(problem) ||
       /Failed to open SSE stream: Bad Request|Maximum reconnection attempts/.test(problem)));
    assert.deepEqual(session.problems.filter(problem => !expected(problem)), []);
  });
});
