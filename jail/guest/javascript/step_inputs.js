// The values that the function of a step reads, as short texts by name. The supervisor keeps them with the step's
// record, and refuses a recorded step whose function reads other values. A function is no value, nor is an object
// without a text form, for example a stream. Loaded with the first step.
'use strict';
const {createHash} = require('crypto');
const {types, inspect} = require('util');

const MOST_PARTS = 2000; // parts of one value that are read; of a longer array the first and the last half
const MOST_DEPTH = 20;
const MOST_TEXT = 120;
const MOST_BYTES = 240; // of a text or a name, as the supervisor takes it
const SHOWN = {depth: 1, maxArrayLength: 5, maxStringLength: 60, breakLength: Infinity, customInspect: false, sorted: true};

const readersOf = new WeakMap(); // for a step's function: {name: () => value}

// `fn` itself. `readers`: for each variable that it reads, by name, a function that returns the value.
function remember(fn, readers) {
  if (typeof fn === 'function') readersOf.set(fn, readers);
  return fn;
}

// {inputs, digest} of the values that `fn` reads, or of `given`, values by name; {} if there are none.
function inputsOf(fn, given) {
  if (given !== undefined && (typeof given !== 'object' || given === null || Array.isArray(given)))
    throw new TypeError('inputs is an object of names and values: the values that tell this step from others');
  const inputs = {};
  const whole = createHash('sha256');
  const readers = given === undefined ? readersOf.get(fn) ?? {} : given;
  for (const [name, value] of Object.entries(readers).slice(0, 64)) {
    const form = formOf(given === undefined ? read(value) : value);
    if (form === undefined) continue;
    inputs[cut(name)] = cut(form.shown);
    whole.update(`${name}\0${form.text}\0`);
  }
  return Object.keys(inputs).length === 0 ? {} : {inputs, digest: whole.digest('hex').slice(0, 16)};
}

function read(reader) {
  try {
    return reader();
  } catch (e) {
    return undefined; // not declared, or without a value yet
  }
}

// {text, shown}: `text` is equal for equal values; undefined: the value has no form.
function formOf(value) {
  try {
    const text = new Parts().of(value, 0);
    if (text === undefined) return undefined;
    if (text.length <= MOST_TEXT && (typeof value !== 'object' || value === null)) return {text, shown: text};
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 12);
    const shown = inspect(value, SHOWN);
    return {text, shown: `${shown.length > 80 ? `${shown.slice(0, 77)}...` : shown} #${digest}`};
  } catch (e) { // an object whose members throw
    return undefined;
  }
}

class Parts {
  #left = MOST_PARTS;

  of(value, depth) {
    this.#left--;
    switch (typeof value) {
      case 'string': return JSON.stringify(value);
      case 'bigint': return `${value}n`;
      case 'number': return Object.is(value, -0) ? '-0' : String(value);
      case 'boolean': return String(value);
      case 'object': return value === null ? 'null' : this.#object(value, depth);
      default: return undefined; // undefined, a function or a symbol
    }
  }

  #object(value, depth) {
    if (depth === MOST_DEPTH || types.isProxy(value) || types.isPromise(value)) return undefined;
    const inner = (member) => this.of(member, depth + 1) ?? '?';
    if (Array.isArray(value)) return `[${value.length}:${this.#ends(value).map(inner)}]`;
    if (types.isDate(value)) return `Date ${value.getTime()}`;
    if (types.isRegExp(value)) return String(value);
    if (ArrayBuffer.isView(value)) {
      const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
      return `${value.constructor.name} ${createHash('sha256').update(bytes).digest('hex')}`;
    }
    if (types.isMap(value)) return `Map ${value.size}:${this.#ends([...value]).map(inner)}`;
    if (types.isSet(value)) return `Set ${value.size}:${this.#ends([...value]).map(inner)}`;
    const tag = Object.prototype.toString.call(value);
    if (tag !== '[object Object]' && !types.isNativeError(value)) return undefined;
    const names = Object.keys(value);
    const members = this.#ends(names).map((name) => `${JSON.stringify(name)}:${inner(value[name])}`);
    return `${value.constructor?.name ?? ''}{${names.length}:${members}}`;
  }

  #ends(values) {
    const room = Math.max(this.#left, 2);
    return values.length <= room ? values : [...values.slice(0, room / 2), ...values.slice(-room / 2)];
  }
}

function cut(text) {
  const whole = Buffer.from(text.toWellFormed?.() ?? text);
  return whole.length <= MOST_BYTES ? whole.toString() : whole.subarray(0, MOST_BYTES - 3).toString().replace(/\uFFFD+$/, '');
}

module.exports = {inputsOf, remember};
