// Converts JavaScript values to JSON that every strict parser reads. A value without a JSON form gets a readable one.
// The limits are those of the supervisor's parser: depth, size, finite numbers.
'use strict';
const {Buffer} = require('buffer');
const process = require('process');
const {types, inspect} = require('util');
const {jsonOf, written} = require('./numbers.js');

const {stringify} = JSON; // a copy, because code may replace it

const MOST_NOTES = 5;
const MAX_DEPTH = 60; // the supervisor's limit is 64, and a message adds levels around the value

// JavaScript puts object keys that are whole numbers first. These keys of a Map get a mark, so that they keep their
// order until they are text. The mark is not a random number: a zygote must not call Math.random() (copies.js).
const INDEX = /^\d{1,10}$/;
const MARK = `\0${process.hrtime.bigint().toString(36)} `; // no key of a program begins with it
const MARK_IN_TEXT = stringify(MARK).slice(0, -1);

// Copies: the methods of an object may be replaced by ones without an end.
const {entries: mapEntries} = Map.prototype;
const {values: setValues} = Set.prototype;
const UNBOX = [Number, String, Boolean, Symbol, BigInt].map((kind) => kind.prototype.valueOf);

class Unanswerable extends Error {
  hasNoForm = false; // true: the value cannot be JSON at any size
}

// {value, asText, notes}: `value` has only objects, arrays, strings, numbers, booleans and null; undefined has no JSON
// form. `asText`: the type's name if the whole value became a text. `notes`: sentences for the agent. `numberOf`: the
// JSON value of a finite number or a BigInt (numbers.js).
function plain(value, limit, numberOf = jsonOf) {
  let left = limit;
  let asText;
  const notes = new Set();
  const note = (sentence) => { if (notes.size < MOST_NOTES) notes.add(sentence); };
  const open = new Set();

  function take(size) {
    left -= size;
    if (left < 0) throw new Unanswerable(`it is more than ${limit} bytes of JSON, the most that can be sent`);
  }

  function text(string, depth, kind) {
    if (depth === 0) asText = kind;
    take(string.length);
    return string;
  }

  function refuse(why) {
    throw Object.assign(new Unanswerable(why), {hasNoForm: true});
  }

  function inside(object, depth, convert) {
    if (depth >= MAX_DEPTH) refuse(`it is nested more than ${MAX_DEPTH} deep`);
    if (open.has(object)) refuse('it contains itself: an object is among its own members');
    open.add(object);
    const converted = convert(depth + 1);
    open.delete(object);
    return converted;
  }

  const array = (values, depth) => {
    const {length} = values;
    take(2 * length);
    const converted = [];
    for (let i = 0; i < length; i++) converted.push(of(values[i], depth) ?? null); // not by its iterator, which may be endless
    return converted;
  };

  function bytes(buffer) {
    take(buffer.length);
    const string = buffer.toString();
    if (buffer.equals(Buffer.from(string))) return string;
    return {base64: buffer.toString('base64')};
  }

  function map(entries, depth) {
    const names = entries.map(([key]) => (['object', 'symbol'].includes(typeof key) ? undefined : String(key)));
    if (names.includes(undefined) || new Set(names).size < names.length)
      return entries.map(([key, member]) => [of(key, depth + 1) ?? null, of(member, depth + 1) ?? null]);
    return object(names.map((name, i) => [INDEX.test(name) ? MARK + name : name, entries[i][1]]), depth);
  }

  function object(entries, depth) {
    const converted = {};
    for (const [name, member] of entries) {
      take(name.length + 4);
      const json = of(member, depth);
      if (json !== undefined)
        Object.defineProperty(converted, name, {value: json, enumerable: true, configurable: true, writable: true});
    }
    return converted;
  }

  function bigint(value, depth) {
    const json = numberOf(value);
    if (json === undefined) {
      note('a BigInt is sent as a text: JSON here has numbers of at most 4,096 bytes');
      return text(String(value), depth, 'bigint');
    }
    if (typeof json === 'string') take(json.length);
    return json;
  }

  function other(value, depth) {
    if (Array.isArray(value)) return inside(value, depth, (inner) => array(value, inner));
    if (types.isDate(value)) return text(Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString());
    if (types.isArrayBuffer(value) || types.isSharedArrayBuffer(value)) return bytes(Buffer.from(value));
    if (Buffer.isBuffer(value)) return bytes(value);
    if (types.isDataView(value)) return bytes(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
    if (ArrayBuffer.isView(value)) return array(value, depth);
    if (types.isMap(value)) return inside(value, depth, (inner) => map([...mapEntries.call(value)], inner));
    if (types.isSet(value)) return inside(value, depth, (inner) => array([...setValues.call(value)], inner));
    if (types.isMapIterator(value) || types.isSetIterator(value) || isArrayIterator(value)) {
      const members = require('./forms.js').membersOfNative(value);
      if (members !== undefined) return inside(value, depth, (inner) => array(members, inner));
    }
    if (types.isBoxedPrimitive(value)) return of(unboxed(value), depth);
    if (types.isNativeError(value) || value instanceof Error) return text(String(value), depth, value.name);
    if (types.isPromise(value))
      note('a promise in the result was not awaited: await it; `await Promise.all(list)` awaits a list of promises');
    if (types.isRegExp(value) || types.isPromise(value) || types.isWeakMap(value) || types.isWeakSet(value))
      return text(inspect(value), depth, value.constructor?.name ?? 'object');
    return inside(value, depth, (inner) => {
      if (typeof value.toJSON === 'function') return of(value.toJSON(), inner);
      const names = Object.keys(value);
      if (names.length === 0) return withoutMembers(value, depth);
      return object(names.map((name) => [name, value[name]]), inner);
    });
  }

  // An object without enumerable properties of its own.
  function withoutMembers(value, depth) {
    const members = (read) => {
      const converted = [];
      read((member) => {
        take(2);
        converted.push(of(member, depth + 1) ?? null);
      });
      return converted;
    };
    const to = {members, pairs: (entries) => map(entries, depth + 1), object: (entries) => object(entries, depth + 1),
      text: (string) => text(string, depth, value.constructor?.name ?? 'object')};
    return require('./forms.js').formOf(value, to, note);
  }

  function of(value, depth) {
    switch (typeof value) {
      case 'string': take(value.length); return value;
      case 'number': return Number.isFinite(value) ? numberOf(value) : String(value);
      case 'boolean': case 'undefined': return value;
      case 'bigint': return bigint(value, depth);
      case 'object': return value === null ? null : other(value, depth);
      default: return text(inspect(value), depth, typeof value); // a function or a symbol
    }
  }

  return {value: of(value, 0), asText, notes: [...notes]};
}

// The value of a Number, String, Boolean, Symbol or BigInt object.
function unboxed(value) {
  for (const valueOf of UNBOX) {
    try {
      return valueOf.call(value);
    } catch (e) { // an object of another kind
    }
  }
  return inspect(value);
}

function isArrayIterator(value) {
  return Object.prototype.toString.call(value) === '[object Array Iterator]';
}

// The JSON text of a message that contains values of plain().
function encoded(message) {
  const text = written(stringify(message));
  return text.includes(MARK_IN_TEXT) ? text.split(MARK_IN_TEXT).join('"') : text;
}

module.exports = {encoded, plain, Unanswerable};
