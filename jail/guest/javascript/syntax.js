// The parser of JavaScript: acorn, as node has it built in, or as Debian installs it beside its own node. Loaded on
// first use; a rehearsal loads it ahead.
'use strict';
const process = require('process');
const vm = require('vm');

const BUILT_IN = 'internal/deps/acorn/acorn/dist/acorn';
const INSTALLED = '/usr/share/nodejs/acorn';
const OPTIONS = {ecmaVersion: 'latest', sourceType: 'script', allowAwaitOutsideFunction: true,
  allowReturnOutsideFunction: true, allowImportExportEverywhere: true, allowHashBang: true};

let acorn; // null: there is none

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
    } catch (e) { // the next one
    }
  }
  return acorn;
}

// The program as a tree (ESTree); undefined where it is none, or there is no parser. What is wrong with it node tells
// better, so no error comes from here.
function parse(code) {
  try {
    return load()?.parse(code, OPTIONS);
  } catch (e) {
    return undefined;
  }
}

// Whether `text` stands for an object: `{a, b: 1}`, which as a statement is a block.
function isObject(text) {
  const [statement] = parse(`(${text}\n)`)?.body ?? [];
  return statement?.expression?.type === 'ObjectExpression';
}

// Calls visit(node) for `node` and all below it, as long as it answers true.
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
