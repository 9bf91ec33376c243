// The main program of a runner: it warms up, sends `ready`, waits for the one order and runs it. A zygote warms up once
// for all of its copies.
'use strict';
const process = require('process');
const fs = require('fs');
const {Channel, ProtocolError} = require('./channel.js');
const {Execution} = require('./execution.js');
const {FILE} = require('./errors.js');
const {rehearse} = require('./rehearsal.js');
const {useProxy} = require('./proxy.js');
const {Stage} = require('./stage.js');
const {ownStreams} = require('./streams.js');

const EX_PROTOCOL = 76; // sysexits.h
const LANGUAGE = process.argv[2] ?? 'javascript'; // the language of the rehearsal

// The order; null if the daemon does not need this jail any more.
function receiveOrder(channel) {
  const order = channel.receiveSync();
  if (order === null || order.type === 'cancel') return null;
  if (order.type !== 'run') throw new ProtocolError(`expected 'run', got '${order.type}'`);
  order.workspace ??= '/workspace';
  order.max_message ??= 8 << 20;
  order.context_vars ??= {};
  if (typeof order.traceparent === 'string') process.env.TRACEPARENT = order.traceparent;
  for (const [key, kind] of [['code', 'string'], ['workspace', 'string'], ['max_message', 'number']])
    if (typeof order[key] !== kind) throw new ProtocolError(`'run' without a proper '${key}'`);
  return order;
}

function cpuTime() {
  const {user, system} = process.cpuUsage();
  return user + system;
}

// The part of a warm-up that is the same for every execution; calls `then()` at its end.
function warm(then) {
  ownStreams();
  useProxy(process.env);
  Error.stackTraceLimit = 50;
  process.argv = [process.execPath, FILE];
  rehearseLife(then);
}

function rehearseLife(then) {
  rehearse(receiveOrder, LANGUAGE, then);
}

// The message `ready`. `began`: process.hrtime.bigint() at the start.
function readyMessage(began) {
  const took = Number(process.hrtime.bigint() - began) / 1e6;
  return JSON.stringify({type: 'ready', interpreter: `Node.js ${process.version}`, warm_ms: Math.round(took * 1000) / 1000,
    cpu_us: cpuTime()});
}

// Runs `prepare(then)`, sends `ready` and runs the order. `end(status)` ends the process.
function live(began, prepare, end) {
  const channel = new Channel();
  const guarded = (step) => {
    try {
      step();
    } catch (e) {
      fs.writeSync(2, `warder javascript runner: ${e.message}\n`);
      end(EX_PROTOCOL);
    }
  };
  guarded(() => prepare(() => guarded(() => {
    const stage = Stage.ahead(channel);
    channel.send(readyMessage(began));
    const order = receiveOrder(channel);
    if (order === null) end(0);
    channel.maxMessage = order.max_message;
    channel.maxKept = order.max_kept ?? 0;
    if (order.session === true) require('./session.js').run(order, channel, receiveOrder, end, stage);
    else new Execution(order, channel, end, stage).run();
  })));
}

module.exports = {live, readyMessage, rehearse: rehearseLife, warm};
