// Awaited: an answer without promises. Promises in it, also those in its arrays and plain objects, are replaced by their
// values, and an async generator by an array of what it yields.
'use strict';
const {setTimeout} = require('timers');
const {types} = require('util');
const {bound, cutNote, MOST_SECONDS} = require('./forms.js');

const MOST_LOOKED_AT = 100_000; // values in which promises are looked for
const MOST_DEPTH = 60;
const {getPrototypeOf} = Object;

function isAsync(value) {
  if (value === null || typeof value !== 'object' || types.isProxy(value)) return false;
  return types.isPromise(value) || types.isGeneratorObject(value) && typeof value[Symbol.asyncIterator] === 'function';
}

// 'array', 'object' or undefined: what may hold promises.
function kindOf(value) {
  if (value === null || typeof value !== 'object' || types.isProxy(value)) return undefined;
  if (Array.isArray(value)) return 'array';
  const proto = getPrototypeOf(value);
  return proto === null || getPrototypeOf(proto) === null ? 'object' : undefined;
}

// True if awaited() would change `root`.
function hasAsync(root) {
  const seen = new Set([root]);
  try {
    for (const value of seen) { // the loop also reads values that it adds
      if (isAsync(value)) return true;
      const kind = kindOf(value);
      if (kind === undefined || seen.size > MOST_LOOKED_AT) continue;
      const members = kind === 'array' ? value : Object.values(value);
      for (let i = 0; i < members.length && seen.size <= MOST_LOOKED_AT; i++)
        if (members[i] !== null && typeof members[i] === 'object') seen.add(members[i]);
    }
  } catch (e) { // a getter of the agent threw; it throws again when the answer is made
  }
  return false;
}

async function membersOf(generator, note) {
  const members = [];
  const limit = bound();
  const over = new Promise((resolve) => { setTimeout(resolve, 1000 * MOST_SECONDS, {isOver: true}).unref(); });
  for (;;) {
    const {done, value, isOver} = await Promise.race([generator.next(), over]);
    if (done) return members;
    if (isOver || limit.isOver(members.length)) {
      note(cutNote(generator, members.length));
      return members;
    }
    members.push(value);
  }
}

// A promise of `value` without promises. Rejects as the first promise that is rejected. `note(text)` tells the agent.
async function awaited(value, note, depth = 0) {
  if (types.isPromise(value)) value = await value;
  else if (isAsync(value)) value = await membersOf(value, note);
  const kind = kindOf(value);
  if (kind === undefined || depth === MOST_DEPTH || !hasAsync(value)) return value;
  if (kind === 'array') return Promise.all(Array.prototype.map.call(value, (member) => awaited(member, note, depth + 1)));
  const entries = Object.entries(value).map(async ([name, member]) => [name, await awaited(member, note, depth + 1)]);
  return Object.fromEntries(await Promise.all(entries));
}

module.exports = {awaited, hasAsync};
