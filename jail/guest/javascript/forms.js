// Forms of objects that have no enumerable properties of their own: the members that they iterate over, else the values
// of their accessors, else a text. Loaded by the first answer that has such an object.
'use strict';
const process = require('process');
const {inspect, types} = require('util');

const {hrtime} = process; // copies, because code may replace them
const {getOwnPropertyDescriptor, getOwnPropertyNames, getPrototypeOf, prototype} = Object;

const MOST_MEMBERS = 10_000; // of an iterable, and of an async generator
const MOST_SECONDS = 3; // for reading one of them
const MOST_ACCESSORS = 100;
const PAIRS = ['[object URLSearchParams]', '[object Headers]', '[object FormData]'];

const NATIVE = [new Map().values(), new Set().values(), [].values()].map((it) => getPrototypeOf(it).next);

// A limit of members and time: `isOver(count)`, with the number of members so far, when there is another one.
function bound() {
  const end = hrtime()[0] + MOST_SECONDS + 1;
  return {isOver: (count) => count >= MOST_MEMBERS || hrtime()[0] >= end};
}

function kindOf(object) {
  if (types.isGeneratorObject(object)) return 'generator';
  const name = object.constructor?.name;
  return typeof name === 'string' && name !== '' && name !== 'Object' ? name.slice(0, 100) : 'iterable';
}

function cutNote(object, count) {
  return `the result holds the first ${count} members of a ${kindOf(object)} that may have more: at most ${MOST_MEMBERS} ` +
    `are read, for at most ${MOST_SECONDS} seconds; make an array of the members that you need`;
}

// The iterator of an object; undefined if it has none.
function iteratorOf(object) {
  if (typeof object[Symbol.iterator] !== 'function') return undefined;
  const iterator = object[Symbol.iterator]();
  return iterator !== null && typeof iterator === 'object' && typeof iterator.next === 'function' ? iterator : undefined;
}

// Calls `take(member)` for each member. `note(text)` is called if not all were read.
function readMembers(object, iterator, take, note) {
  const limit = bound();
  for (let count = 0; ; count++) {
    const {done, value} = iterator.next();
    if (done) return undefined;
    if (limit.isOver(count)) return note(cutNote(object, count));
    take(value);
  }
}

// The members of an iterator that belongs to Node's own Map, Set or Array, whose number has an end; undefined for others.
function membersOfNative(value) {
  for (const next of NATIVE) {
    try {
      const members = [];
      for (let it = Reflect.apply(next, value, []); !it.done; it = Reflect.apply(next, value, [])) members.push(it.value);
      return members;
    } catch (e) { // another kind of iterator
    }
  }
  return undefined;
}

// The values of the accessors that the object's classes define: [name, value] each. Methods and failing accessors are
// left out.
function accessorsOf(object) {
  const entries = new Map();
  for (let from = getPrototypeOf(object); from !== null && from !== prototype; from = getPrototypeOf(from)) {
    for (const name of getOwnPropertyNames(from)) {
      if (entries.size === MOST_ACCESSORS) return [...entries];
      if (name === '__proto__' || entries.has(name) || getOwnPropertyDescriptor(from, name).get === undefined) continue;
      try {
        const value = object[name];
        if (typeof value !== 'function') entries.set(name, value);
      } catch (e) { // an accessor that works on other objects only
      }
    }
  }
  return [...entries];
}

// True for an object of no class: its members are all that it has.
function isPlain(object) {
  const proto = getPrototypeOf(object);
  return proto === null || getPrototypeOf(proto) === null;
}

function textOf(object) {
  const {toString} = object;
  return typeof toString === 'function' && toString !== prototype.toString ? String(object) : inspect(object);
}

// `to`: {pairs(entries), members(read), object(entries), text(string)} make the JSON of a form; `note(text)` tells the
// agent.
function formOf(object, to, note) {
  const isPairs = PAIRS.includes(prototype.toString.call(object));
  const iterator = iteratorOf(object);
  if (iterator !== undefined && isPairs) {
    const entries = [];
    readMembers(object, iterator, (pair) => entries.push(pair), note);
    return to.pairs(entries);
  }
  if (iterator !== undefined) return to.members((take) => readMembers(object, iterator, take, note));
  if (isPlain(object) || object.constructor?.name === 'Object') return to.object([]);
  if (types.isGeneratorObject(object)) note('an async generator in the result was not read: read it with `for await`');
  const entries = types.isGeneratorObject(object) ? [] : accessorsOf(object);
  return entries.length > 0 ? to.object(entries) : to.text(textOf(object));
}

module.exports = {bound, cutNote, formOf, membersOfNative, MOST_SECONDS};
