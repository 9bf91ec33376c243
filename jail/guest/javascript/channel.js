// The guest socket: whole messages over a SOCK_SEQPACKET descriptor, and calls that many promises may await at once.
// A packet is one byte, `F` (final) or `M` (more follows), and at most 65,535 bytes of UTF-8 JSON.
'use strict';
const process = require('process');
const {Buffer} = require('buffer');
const fs = require('fs');
const {parseWithNotes} = require('./numbers.js');

const FD = 3;
const PART = 65535;
const DOWN_LIMIT = 64 << 20;
const CALLS_LIMIT = 200; // the supervisor ends an execution with more unanswered calls
const FINAL = 70;
const MORE = 77;

const decoder = new TextDecoder('utf-8', {fatal: true});

class ProtocolError extends Error {}

// The supervisor refused a call, or the call failed: code, message, the rule if any, and a remedy if any.
class CallError extends Error {
  constructor({code = 'internal', message = 'the call failed', rule, remedy, data}) {
    super(`${code}: ${message}${rule ? ` (rule: ${rule})` : ''}${remedy ? `; ${remedy}` : ''}`);
    this.code = code;
    if (rule) this.rule = rule;
    if (remedy) this.remedy = remedy;
    if (data !== undefined) this.data = data;
  }
}
CallError.prototype.name = 'CallError';

// Writes all data, even if the code has made the pipe or socket non-blocking.
function writeAll(fd, data) {
  let at = 0;
  while (at < data.length) {
    try {
      at += fs.writeSync(fd, data, at);
    } catch (e) {
      if (e.code !== 'EAGAIN') throw e;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

class Assembler {
  #parts = [];
  #size = 0;

  // The message that the packet completes; undefined if more packets follow.
  add(packet) {
    if (packet.length > PART + 1 || (packet[0] !== FINAL && packet[0] !== MORE))
      throw new ProtocolError('a packet is too long or begins with neither F nor M');
    this.#size += packet.length - 1;
    if (this.#size > DOWN_LIMIT) throw new ProtocolError('a message is longer than 64 MiB');
    this.#parts.push(packet.subarray(1));
    if (packet[0] === MORE) return undefined;
    const data = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#size = 0;
    let message;
    try {
      message = parseWithNotes(decoder.decode(data));
    } catch (e) {
      throw new ProtocolError('a message is not JSON');
    }
    if (message === null || typeof message !== 'object' || typeof message.type !== 'string')
      throw new ProtocolError('a message is not one JSON object with a type');
    return message;
  }
}

class Channel {
  maxMessage = 8 << 20;
  maxKept = 0; // bytes of a result that is sent in parts
  endedOrders = 0; // of a session
  #assembler = new Assembler();
  #calls = new Map();
  #lastId = 0;
  #socket;
  #handle; // the handle of the socket
  #fd;

  // `fd`: in a rehearsal, another descriptor than the guest socket.
  constructor(fd = FD) {
    this.#fd = fd;
  }

  // Waits, without an event loop, for the next message that is not a reply; null at the end of the stream.
  receiveSync() {
    this.#handle?.setBlocking(true);
    try {
      for (;;) {
        const packet = Buffer.allocUnsafe(PART + 2); // one byte more than the longest packet, to detect longer ones
        const size = fs.readSync(this.#fd, packet, 0, packet.length, null);
        if (size === 0) return null;
        const message = this.#assembler.add(packet.subarray(0, size));
        if (message !== undefined && message.type !== 'reply') return message;
      }
    } finally {
      this.#handle?.setBlocking(false);
    }
  }

  // Sends the whole JSON text before it returns.
  send(text) {
    const data = Buffer.from(text);
    let at = 0;
    do {
      const part = data.subarray(at, at + PART);
      at += part.length;
      writeAll(this.#fd, Buffer.concat([Buffer.of(at < data.length ? MORE : FINAL), part]));
    } while (at < data.length);
  }

  // Waits until the supervisor closes its side or ends this jail: it still checks the jail after the answer.
  linger() {
    const packet = Buffer.allocUnsafe(PART + 2);
    while (fs.readSync(this.#fd, packet, 0, packet.length, null) > 0);
  }

  async call(name, args) {
    const {id, text} = this.#question(name, args);
    const asked = {};
    Error.captureStackTrace(asked); // when the reply arrives, the agent's lines are no longer on the stack
    const answer = new Promise((resolve, reject) => {
      const fail = (error) => {
        const told = new CallError(error);
        told.stack = asked.stack.replace(/^.*/, () => String(told));
        reject(told);
      };
      this.#calls.set(id, {resolve, fail});
    });
    this.#listen();
    try {
      this.send(text);
    } catch (e) {
      this.#endAll({code: 'gone', message: `the supervisor cannot be reached: ${e.code}`});
    }
    return answer;
  }

  // A call that blocks until its reply, as require() must. Replies to other calls that arrive before it settle those
  // calls.
  callSync(name, args) {
    const {id, text} = this.#question(name, args);
    let answer;
    this.#calls.set(id, {resolve: (value) => { answer = {value}; }, fail: (error) => { answer = {error}; }});
    try {
      this.send(text);
      while (answer === undefined) this.#readSync();
    } catch (e) {
      this.#calls.delete(id);
      throw new CallError({code: 'gone', message: `the supervisor cannot be reached: ${e.code ?? e.message}`});
    }
    if (answer.error !== undefined) throw new CallError(answer.error);
    return answer.value;
  }

  #readSync() {
    const packet = Buffer.allocUnsafe(PART + 2);
    let size;
    try {
      size = fs.readSync(this.#fd, packet, 0, packet.length, null);
    } catch (e) {
      if (e.code !== 'EAGAIN') throw e; // non-blocking after #listen()
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      return;
    }
    if (size === 0) this.#endAll({code: 'gone', message: 'the supervisor has closed the channel'});
    else this.#read(packet.subarray(0, size));
  }

  // Registers a new call and returns its id and its text.
  #question(name, args) {
    if (typeof name !== 'string') throw new TypeError(`the name of a call is a string, not ${typeof name}`);
    if (this.#calls.size >= CALLS_LIMIT) {
      throw new CallError({code: 'too_many', message: `${CALLS_LIMIT} calls are waiting for their answers already`,
        remedy: 'make fewer calls at once'});
    }
    const {encoded, plain} = require('./values.js');
    let text;
    const id = ++this.#lastId;
    try {
      text = encoded({type: 'call', id, name, arguments: plain(args ?? {}, this.maxMessage).value});
    } catch (e) {
      throw new CallError({code: 'invalid', message: `the arguments of '${name}' cannot be sent: ${e.message}`});
    }
    if (Buffer.byteLength(text) > this.maxMessage) {
      const message = `the arguments of '${name}' are more than ${this.maxMessage} bytes`;
      throw new CallError({code: 'too_large', message, remedy: "send a file's name instead"});
    }
    return {id, text};
  }

  // Node's handle for Unix sockets accepts any socket type, and one read is one packet. fs.read() would work as well,
  // but a read that waits in the thread pool stops the process from exiting.
  #listen() {
    if (this.#socket === undefined) {
      const {Pipe, constants} = process.binding('pipe_wrap');
      this.#handle = new Pipe(constants.SOCKET);
      this.#handle.open(this.#fd);
      const {Socket} = require('net');
      this.#socket = new Socket({handle: this.#handle, readable: true, writable: false});
      const gone = () => this.#endAll({code: 'gone', message: 'the supervisor has closed the channel'});
      this.#socket.on('data', (packet) => this.#read(packet)).on('end', gone).on('error', gone);
    }
    this.#socket.ref();
  }

  #read(packet) {
    let message;
    try {
      message = this.#assembler.add(packet);
    } catch (e) {
      this.#endAll({code: 'gone', message: `the supervisor sent no message: ${e.message}`});
      return;
    }
    if (message === undefined) return;
    if (message.type === 'cancel') this.#endAll({code: 'cancelled', message: 'the execution was cancelled'});
    const call = message.type === 'reply' ? this.#calls.get(message.id) : undefined;
    if (call === undefined) return;
    this.#calls.delete(message.id);
    if (message.error === undefined || message.error === null) call.resolve(message.result);
    else call.fail(message.error);
    if (this.#calls.size === 0) this.#socket?.unref();
  }

  // Lets all waiting calls fail: the order that made them is answered.
  abandon() {
    this.endedOrders++;
    if (this.#calls.size > 0)
      this.#endAll({code: 'cancelled', message: 'the execution ended before this call was answered'});
  }

  #endAll(error) {
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    this.#socket?.unref();
    for (const call of calls) call.fail(error);
  }
}

module.exports = {Assembler, Channel, CallError, ProtocolError, writeAll};
