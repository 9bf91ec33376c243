// Nested objects to one level, and back.
'use strict';

const escaped = (name) => name.replace(/[\\.]/g, '\\$&');
const isNested = (value) => value !== null && typeof value === 'object' && Object.keys(value).length > 0;

function flatten(value, prefix = '', flat = {}) {
  for (const [name, member] of Object.entries(value)) {
    const path = prefix + escaped(name);
    if (isNested(member)) flatten(member, `${path}.`, flat);
    else flat[path] = member;
  }
  return flat;
}

function partsOf(path) {
  const parts = [''];
  for (let i = 0; i < path.length; i++) {
    if (path[i] === '.') parts.push('');
    else parts[parts.length - 1] += path[i] === '\\' ? path[++i] ?? '' : path[i];
  }
  return parts;
}

// An object with the names 0, 1, 2 ... was a list.
function withLists(value) {
  if (!isNested(value)) return value;
  const names = Object.keys(value);
  const members = names.map((name) => withLists(value[name]));
  if (names.every((name, i) => name === String(i))) return members;
  return Object.fromEntries(names.map((name, i) => [name, members[i]]));
}

function back(flat) {
  const top = Object.create(null);
  for (const [path, value] of Object.entries(flat)) {
    const parts = partsOf(path);
    const last = parts.pop();
    let at = top;
    for (const part of parts) at = at[part] ??= Object.create(null);
    at[last] = value;
  }
  return withLists(top);
}

module.exports = Object.assign((value) => flatten(value), {back});
