// Answer: a program's value or pictures, its error and its end, sent as the `result` message.
'use strict';
const {Buffer} = require('buffer');
const {inspect, types} = require('util');
const {describe} = require('./errors.js');
const {note} = require('./streams.js');
const {encoded, plain, Unanswerable} = require('./values.js');

const {stringify} = JSON; // code may replace it

const MOST_IMAGE_BYTES = 1 << 20;
const MOST_INSPECTED = 64 * 1024;

class Answer {
  #channel;
  #about;
  #message = {type: 'result'};
  #settling = {}; // {value, became}: an answer with promises, and the same without them; until then undefined

  // `about`: passed to describe(), see errors.js.
  constructor(channel, about) {
    this.#channel = channel;
    this.#about = about;
  }

  get hasFailed() {
    return this.#message.error !== undefined;
  }

  // The first error is the cause; later ones are ignored.
  fail(error) {
    if (this.hasFailed) return;
    if (error instanceof Refused) this.#message.error = error.message;
    else Object.assign(this.#message, describe(error, this.#about));
  }

  exited(status) {
    if (!this.hasFailed) this.#message.exit = status & 255;
  }

  // Awaits the promises in `value`, the answer that the program has at its end.
  async settle(value) {
    if (!isObject(value)) return;
    const {awaited, hasAsync} = require('./awaited.js');
    if (!hasAsync(value)) return;
    this.#settling = {value};
    this.#settling.became = await awaited(value, note);
  }

  // `isImplied`: the program did not name an answer; this is the value of its last expression. undefined is no answer.
  take(value, isImplied = false) {
    if (value === this.#settling.value) value = this.#settling.became;
    if (value === undefined || isImplied && isHandle(value)) return;
    if (this.hasFailed && isObject(value) && require('./awaited.js').hasAsync(value)) return; // a promise is the failure
    const bytes = types.isUint8Array(value) ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : undefined;
    const mime = bytes && mimeOf(bytes);
    if (mime !== undefined && bytes.length <= MOST_IMAGE_BYTES) {
      this.#message.images = [{mime, data: bytes.toString('base64')}];
      return;
    }
    try {
      const {value: json, asText, notes} = plain(value, Math.max(this.#channel.maxMessage, this.#channel.maxKept ?? 0));
      notes.forEach(note);
      if (json !== undefined) this.#message.value = json;
      if (asText !== undefined) this.#message.value_type = asText;
    } catch (e) {
      if (isImplied && e instanceof Unanswerable && e.hasNoForm) this.#inspect(value, e.message);
      else this.#cannotAnswer(headOf(e));
    }
  }

  // Sends the message and returns its exit status. `readBytes`: bytes read from files of the workspace.
  send(status, readBytes) {
    let text;
    try {
      this.#message.status = this.hasFailed ? status & 255 || 1 : status & 255;
      if (readBytes > 0) this.#message.read_bytes = readBytes;
      text = this.#encoded();
    } catch (e) {
      this.#message = {type: 'result', error: `the result could not be sent: ${headOf(e)}`, status: 1};
      text = stringify(this.#message);
    }
    try {
      this.#channel.send(text);
    } catch (e) { // the supervisor is gone
    }
    return this.#message.status;
  }

  #inspect(value, why) {
    try {
      note(`the value of the last expression has no JSON form, because ${why}: the result is a text that shows a part of it`);
      this.#message.value = inspect(value, {depth: 3}).slice(0, MOST_INSPECTED);
      this.#message.value_type = value?.constructor?.name ?? 'object';
    } catch (e) { // a getter of the agent threw
    }
  }

  #cannotAnswer(why) {
    delete this.#message.value;
    delete this.#message.value_type;
    delete this.#message.images;
    if (this.#message.status === 0) this.#message.status = 1;
    this.#message.error ??=
      `the result cannot be returned: ${why}; write it to a file in the workspace, or return a summary of it`;
  }

  // Sends a value that is too large for the message in parts, to be stored: a text as it is, others as JSON.
  #keepValue() {
    const {value} = this.#message, {maxMessage, maxKept} = this.#channel;
    if (value === undefined || !(maxKept > 0)) {
      this.#cannotAnswer(`it is more than ${maxMessage} bytes of JSON, the most that can be sent`);
      return;
    }
    const form = typeof value === 'string' ? 'text' : 'json';
    const text = form === 'text' ? value : encoded(value);
    const step = Math.max(Math.floor((maxMessage - 512) / 6), 2); // each UTF-16 unit has at most 6 bytes in JSON
    try {
      for (let at = 0, end; at < text.length; at = end) {
        end = at + step;
        const last = text.charCodeAt(end - 1);
        if (last >= 0xd800 && last < 0xdc00) end--; // a character of two units stays whole
        this.#channel.callSync('keep_value', {part: text.slice(at, end)});
      }
    } catch (e) {
      this.#cannotAnswer(`it could not be stored: ${e.message}`);
      return;
    }
    delete this.#message.value;
    this.#message.kept = form;
  }

  #encoded() {
    const limit = this.#channel.maxMessage;
    let text = encoded(this.#message);
    if (Buffer.byteLength(text) > limit) {
      this.#keepValue();
      text = encoded(this.#message);
    }
    for (const key of ['traceback', 'error']) {
      if (Buffer.byteLength(text) <= limit || this.#message[key] === undefined) continue;
      this.#message[key] = this.#message[key].slice(0, Math.max(0, (limit >> 3) - 64));
      text = encoded(this.#message);
    }
    return text;
  }
}

// An error that stops a program before it runs: its message is sent unchanged.
class Refused extends Error {}

// True for objects like timers or servers: a call that starts work returns them, and they are not a result.
function isHandle(value) {
  try {
    return isObject(value) && (['Timeout', 'Immediate'].includes(value.constructor?.name) || value instanceof require('events'));
  } catch (e) { // a getter of the agent threw
    return false;
  }
}

function headOf(error) {
  if (error instanceof Unanswerable) return error.message;
  try {
    return String(error);
  } catch (e) { // toString() may be the agent's code
    return 'an error whose text cannot be read';
  }
}

// True for objects like timers or servers: a call that starts work returns them, and they are not a result.
function isHandle(value) {
  try {
    return isObject(value) && (['Timeout', 'Immediate'].includes(value.constructor?.name) || value instanceof require('events'));
  } catch (e) { // a getter of the agent threw
    return false;
  }
}

function mimeOf(bytes) {
  if (bytes.subarray(0, 8).equals(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))) return 'image/png';
  if (bytes.subarray(0, 3).equals(Buffer.from('\xff\xd8\xff', 'latin1'))) return 'image/jpeg';
  return undefined;
}

function isObject(value) {
  return value !== null && typeof value === 'object';
}

module.exports = {Answer, Refused};
