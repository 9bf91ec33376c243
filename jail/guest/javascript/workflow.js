// Workflows: the supervisor stores the values of steps, so the same program, sent again, skips finished steps.
// Loaded when a program first calls warder.workflow().
'use strict';
const {Buffer} = require('buffer');
const {isDeepStrictEqual} = require('util');
const {note} = require('./streams.js');
const {CallError} = require('./channel.js');
const {inputsOf} = require('./step_inputs.js');
const {parseExactly, returningJsonOf} = require('./numbers.js');
const {encoded: asText, plain} = require('./values.js');

const MOST_VALUE = 1 << 20; // bytes of a value as JSON
const MOST_SHOWN = 100; // characters of a value in a note
const MOST_PART = 100_000; // characters of a value in one message, which is JSON again: at most six times as long
const MOST_PAUSE = 3600; // seconds between two attempts

// All attempts of a step failed. `cause`: the error of the last attempt, if it was made in this run.
class StepFailed extends Error {}
StepFailed.prototype.name = 'StepFailed';
// An attempt of a step took longer than its timeout.
class StepTimeout extends Error {}
StepTimeout.prototype.name = 'StepTimeout';
class NotJson extends TypeError {}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function check(name, fn, {retries, backoff, timeout}) {
  if (typeof name !== 'string') throw new TypeError(`the name of a step is a string, not ${typeof name}`);
  if (typeof fn !== 'function') throw new TypeError(`step '${name}': give a function, for example () => work(x); not ${typeof fn}`);
  if (!Number.isInteger(retries) || retries < 0 || retries > 1000)
    throw new RangeError(`step '${name}': retries is a number of 0 to 1000`);
  if (typeof backoff !== 'number' || !(backoff >= 0 && backoff <= MOST_PAUSE))
    throw new RangeError(`step '${name}': backoff is a number of seconds, 0 to ${MOST_PAUSE}`);
  if (timeout !== undefined && (typeof timeout !== 'number' || !(timeout > 0 && timeout <= 86400)))
    throw new RangeError(`step '${name}': timeout is a number of seconds, more than 0, at most 86400`);
}

// The value of fn, or StepTimeout when its time is over; `signal` then tells fn to stop.
async function limited(name, fn, context, timeout) {
  if (timeout === undefined) return fn(context);
  const stop = new AbortController();
  let timer;
  const over = new Promise((_, reject) => {
    timer = setTimeout(() => {
      const error = new StepTimeout(`step '${name}' took longer than ${timeout} seconds`);
      stop.abort(error);
      reject(error);
    }, timeout * 1000);
  });
  try {
    return await Promise.race([fn({...context, signal: stop.signal}), over]);
  } finally {
    clearTimeout(timer);
  }
}

function encoded(name, value) {
  let why;
  let text;
  try {
    text = asJson(name, value);
  } catch (e) {
    why = e instanceof Error ? String(e.message).split('\n')[0] : 'an error of another kind was thrown';
  }
  if (why === undefined) {
    const size = Buffer.byteLength(text);
    if (size <= MOST_VALUE) return text;
    why = `it has ${size} bytes as JSON, ${MOST_VALUE} are allowed; write it to a file and return the file's name`;
  }
  throw new NotJson(`step '${name}' has run, but its value cannot be kept: ${why}`);
}

// The value as an answer would have it. Tells the agent if the value comes back from the step in another form.
function asJson(name, value) {
  if (value === undefined) return 'null';
  if (typeof value === 'function' || typeof value === 'symbol') throw new TypeError(`a ${typeof value} is not JSON`);
  const {value: json, notes} = plain(value, 2 * MOST_VALUE, returningJsonOf);
  notes.forEach(note);
  const text = asText(json);
  if (!isDeepStrictEqual(parseExactly(text), value)) {
    const shown = text.length <= MOST_SHOWN ? text : `${text.slice(0, MOST_SHOWN)}...`;
    note(`step '${name}' returns its value in the form that JSON has for it: ${shown}`);
  }
  return text;
}

function described(failure) {
  if (failure instanceof NotJson) return failure.message;
  return failure instanceof Error ? String(failure) : `thrown: ${String(failure)}`;
}

class Workflow {
  #call;
  #running; // shared with the helpers: `announce` is set while a step runs, `order` counts the orders of a session
  #next = 0; // the position of the next step
  #recorded = 0; // steps that earlier runs have recorded
  #order; // of a session: the one in which the supervisor was asked; each order holds the workflow anew
  #run;
  #step;
  #inputs; // of the running step, as the supervisor's calls take them
  #announced; // a promise of step_begin's answer; undefined: the supervisor does not know of the running step

  constructor(name, call, running) {
    if (typeof name !== 'string') throw new TypeError(`the name of a workflow is a string, not ${typeof name}`);
    this.name = name;
    this.key = null; // the idempotency key of the running step
    this.#call = call;
    this.#running = running;
  }

  // A promise of fn's value, from the record of an earlier run if this step has finished in it. A failed attempt is
  // followed by up to `retries` others, after `backoff` seconds, then twice as long each time. An attempt has at most
  // `timeout` seconds. If the program is ended in a step, that step runs again in the next run. fn gets {key, attempt,
  // signal}. The value is JSON. A recorded step whose function reads other values now is refused. `inputs`: the values
  // to compare, by name; if it is left out, those that fn reads.
  async step(name, fn, {retries = 0, backoff = 1, timeout, inputs} = {}) {
    check(name, fn, {retries, backoff, timeout});
    if (this.#step !== undefined) {
      throw new CallError({code: 'invalid', message: `step '${name}' of workflow '${this.name}' cannot begin: another ` +
        'step has not ended', remedy: 'steps run one after another: await each one; inside a step, work may run in parallel'});
    }
    const position = this.#next;
    this.#inputs = inputsOf(fn, inputs);
    this.#step = name;
    this.#announced = undefined;
    try {
      const order = this.#running.order();
      if (this.#order !== order || position < this.#recorded) {
        this.#announced = this.#begin(position);
        const start = await this.#announced;
        [this.#recorded, this.#run, this.#order] = [start.recorded, start.run, order];
        if (start.state === 'finished') {
          this.#next = position + 1;
          return parseExactly(start.value);
        }
        if (start.state === 'failed') {
          this.#next = position + 1;
          throw new StepFailed(start.message);
        }
      } // else a new step: the supervisor learns of it at its end, or when it calls a tool
      this.key = `${this.#run}-${position}${this.#inputs.digest ? `-${this.#inputs.digest}` : ''}`;
      this.#running.announce = () => this.#announced ??= this.#begin(position);
      const {text, failure, attempts} = await this.#attempts(name, fn, {retries, backoff, timeout});
      await this.#end(position, attempts, failure === undefined ? {value: text} : {failure: described(failure.error)});
      this.#next = position + 1;
      if (failure === undefined) return parseExactly(text);
      throw new StepFailed(`step '${name}' failed after ${attempts} attempt${attempts > 1 ? 's' : ''}: ` +
        described(failure.error), {cause: failure.error});
    } finally {
      this.key = this.#running.announce = null;
      this.#step = undefined;
    }
  }

  #begin(position) {
    return this.#call('step_begin', {workflow: this.name, step: this.#step, position, ...this.#inputs});
  }

  async #attempts(name, fn, {retries, backoff, timeout}) {
    for (let attempt = 1; ; attempt++) {
      try {
        const value = await limited(name, fn, {key: this.key, attempt}, timeout);
        return {text: encoded(name, value), attempts: attempt};
      } catch (error) {
        if (error instanceof NotJson || attempt > retries) return {failure: {error}, attempts: attempt};
      }
      await pause(Math.min(backoff * 2 ** (attempt - 1), MOST_PAUSE) * 1000);
      if (this.#announced !== undefined) await this.#call('step_retry', {workflow: this.name});
    }
  }

  async #end(position, attempts, ending) {
    try {
      if ('value' in ending) {
        let rest = ending.value;
        if (rest.length > MOST_PART) await this.#running.announce();
        while (rest.length > MOST_PART) {
          let length = MOST_PART; // no surrogate pair is split
          if (rest.charCodeAt(length - 1) >= 0xd800 && rest.charCodeAt(length - 1) < 0xdc00) length--;
          await this.#call('step_value', {workflow: this.name, part: rest.slice(0, length)});
          rest = rest.slice(length);
        }
        ending = {value: rest};
      }
      await this.#call('step_end', {workflow: this.name, step: this.#step, position, attempts, ...this.#inputs, ...ending});
    } catch (e) {
      if (!('value' in ending)) return; // the failure itself is told
      e.message = `the step has run, but its value was not kept, so it runs again next time: ${e.message}`;
      throw e;
    }
  }
}

module.exports = {Workflow, StepFailed, StepTimeout};
