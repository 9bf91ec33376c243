// The JavaScript parser: acorn, built into Node, or as Debian installs it beside its Node. Loaded on first use; a
// rehearsal loads it ahead of time.
'use strict';
const process = require('process');
const vm = require('vm');

const BUILT_IN = 'internal/deps/acorn/acorn/dist/acorn';
const INSTALLED = '/usr/share/nodejs/acorn';
const OPTIONS = {ecmaVersion: 'latest', sourceType: 'script', allowAwaitOutsideFunction: true,
  allowReturnOutsideFunction: true, allowImportExportEverywhere: true, allowHashBang: true};

let acorn; // undefined: not loaded; null: not available

function builtIn() {
  const source = process.binding('natives')[BUILT_IN];
  if (typeof source !== 'string' || source.length < 10_000) return undefined;
  const module = {exports: {}};
  const wrapped = `(function (exports, require, module) {${source}\n})`;
  vm.runInThisContext(wrapped, {filename: BUILT_IN})(module.exports, require, module);
  return module.exports;
}

function load() {
  if (acorn !== undefined) return acorn;
  acorn = null;
  for (const find of [builtIn, () => require(INSTALLED)]) {
    try {
      const found = find();
      if (typeof found?.parse === 'function') return acorn = found;
    } catch (e) { // try the next one
    }
  }
  return acorn;
}

// The program as a tree (ESTree); undefined if it cannot be parsed, or there is no parser. Node reports syntax errors
// better, so this function throws no error.
function parse(code) {
  try {
    return load()?.parse(code, OPTIONS);
  } catch (e) {
    return undefined;
  }
}

// True if `text` is an object as an expression: `{a, b: 1}`, which is a block as a statement.
function isObject(text) {
  const [statement] = parse(`(${text}\n)`)?.body ?? [];
  return statement?.expression?.type === 'ObjectExpression';
}

// Calls visit(node) for `node` and all nodes below it; if visit() returns false, the nodes below are skipped.
function walk(node, visit) {
  if (!visit(node)) return;
  for (const key in node) {
    const value = node[key];
    if (Array.isArray(value)) {
      for (const member of value) if (typeof member?.type === 'string') walk(member, visit);
    } else if (typeof value?.type === 'string') {
      walk(value, visit);
    }
  }
}

// The names that a pattern binds.
function namesOf(pattern) {
  switch (pattern?.type) {
    case 'Identifier': return [pattern.name];
    case 'ObjectPattern': return pattern.properties.flatMap((it) => namesOf(it.value ?? it.argument));
    case 'ArrayPattern': return pattern.elements.flatMap(namesOf);
    case 'RestElement': return namesOf(pattern.argument);
    case 'AssignmentPattern': return namesOf(pattern.left);
    default: return [];
  }
}

module.exports = {hasParser: () => load() !== null, isObject, namesOf, parse, walk};
