// Finds the variables that the functions of a workflow's steps read. JavaScript cannot ask a function for the variables
// around it, so the program gets readers of them: wf.step(name, fn) becomes
// wf.step(name, __warder.reads(fn, {customer: () => customer})).
'use strict';
const {namesOf, walk} = require('./syntax.js');

const FUNCTION = /Function/;
const MOST_NAMES = 64; // of one step
const MOST_FUNCTIONS = 64;
// Names that are the same in every run, or not the program's.
const KNOWN = new Set(['undefined', 'NaN', 'Infinity', 'arguments', 'globalThis', 'global', 'process', 'console', 'require',
  'module', 'exports', 'fs', 'utils', 'warder', 'skills', 'servers', 'result', '__warder']);

// The edits of a tree: for each step, {start, end, names}, the range of its function and the variables that it reads.
function findStepReads(tree) {
  const functions = functionsOf(tree.body);
  const found = [];
  walk(tree, (node) => {
    if (isStep(node)) {
      const fn = node.arguments[1];
      found.push({start: fn.start, end: fn.end, names: namesRead(fn, functions)});
    }
    return true;
  });
  return found;
}

function isStep({type, callee, arguments: args}) {
  return type === 'CallExpression' && callee.type === 'MemberExpression' && !callee.computed &&
    callee.property.name === 'step' && args.length >= 2 && args[1].type !== 'SpreadElement' && args[0].type !== 'SpreadElement';
}

// The functions that the program declares outside of other functions, by name.
function functionsOf(statements) {
  const functions = new Map();
  for (const statement of statements) {
    const declared = statement.declaration ?? statement; // exported
    if (declared.type === 'FunctionDeclaration' && declared.id) functions.set(declared.id.name, declared);
    for (const {id, init} of declared.type === 'VariableDeclaration' ? declared.declarations : [])
      if (id.type === 'Identifier' && init && FUNCTION.test(init.type)) functions.set(id.name, init);
  }
  return functions;
}

// The variables that `node` reads, and those that the program's functions read which it names.
function namesRead(node, functions) {
  const names = new Set();
  const seen = new Set();
  const nodes = [node];
  while (nodes.length > 0 && seen.size < MOST_FUNCTIONS) {
    for (const name of freeNames(nodes.pop())) {
      const called = functions.get(name);
      if (called === undefined) names.add(name);
      else if (!seen.has(name)) nodes.push(called);
      if (called !== undefined) seen.add(name);
    }
  }
  return [...names].filter((name) => !KNOWN.has(name)).slice(0, MOST_NAMES);
}

// The names in `node` that it does not declare itself.
function freeNames(node) {
  const used = new Set(), own = new Set();
  const bind = (pattern) => {
    for (const name of namesOf(pattern)) own.add(name);
  };
  const visit = (inner) => {
    const {type, computed} = inner;
    if (type === 'Identifier') used.add(inner.name);
    if (type === 'VariableDeclarator') bind(inner.id);
    if (type === 'CatchClause') bind(inner.param);
    if (FUNCTION.test(type)) inner.params.forEach(bind);
    if ((FUNCTION.test(type) || type.startsWith('Class')) && inner.id) bind(inner.id);
    // The name of a member is no variable.
    const part = type === 'MemberExpression' ? inner.object : inner.value;
    const hasName = type === 'MemberExpression' || /^(?:Property|PropertyDefinition|MethodDefinition)$/.test(type);
    if (!hasName || computed) return type !== 'BreakStatement' && type !== 'ContinueStatement';
    if (part) walk(part, visit);
    return false;
  };
  walk(node, visit);
  return [...used].filter((name) => !own.has(name));
}

module.exports = {findStepReads};
