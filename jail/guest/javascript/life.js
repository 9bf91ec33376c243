// The life of a runner: it warms itself, says that it is ready, waits for the one order and carries it out. A zygote does
// the first for all of its copies.
'use strict';
const fs = require('fs');
const {Writable} = require('stream');
const {Channel, ProtocolError, writeAll} = require('./channel.js');
const {Execution} = require('./execution.js');
const {FILE} = require('./errors.js');

const EX_PROTOCOL = 76; // sysexits.h

// The process's streams, synchronous: nothing is lost at an exit, and lines keep their order with other programs'.
function ownStreams() {
  for (const [name, fd] of [['stdout', 1], ['stderr', 2]]) {
    const stream = new Writable({
      decodeStrings: true,
      write(chunk, encoding, done) {
        try {
          writeAll(fd, chunk);
        } catch (e) { // whoever read this is gone; the execution goes on without
        }
        done();
      },
    });
    stream.fd = fd;
    stream.destroy = () => stream;
    Object.defineProperty(process, name, {value: stream, configurable: true, enumerable: true, writable: true});
  }
}

// Null when nobody wants this jail any more.
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

// What is the same for every execution.
function warm() {
  ownStreams();
  Error.stackTraceLimit = 50;
  process.argv = [process.execPath, FILE];
  Execution.rehearse();
}

// The message that tells it. `began`: process.hrtime.bigint() of its beginning.
function readyMessage(began) {
  const took = Number(process.hrtime.bigint() - began) / 1e6;
  return JSON.stringify({type: 'ready', interpreter: `Node.js ${process.version}`, warm_ms: Math.round(took * 1000) / 1000,
    cpu_us: cpuTime()});
}

// From `prepare()` to the end of the process, which `end(status)` makes.
function live(began, prepare, end) {
  const channel = new Channel();
  let order;
  try {
    prepare();
    channel.send(readyMessage(began));
    order = receiveOrder(channel);
    if (order === null) end(0);
  } catch (e) {
    fs.writeSync(2, `warder javascript runner: ${e.message}\n`);
    end(EX_PROTOCOL);
  }
  channel.maxMessage = order.max_message;
  new Execution(order, channel, end).run();
}

module.exports = {live, readyMessage, warm};
