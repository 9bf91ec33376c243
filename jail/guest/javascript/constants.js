// Finds assignments to constants of a session. In a session, `const` becomes an assignment to a global variable
// (program.js). The assignments are found in the program's text, so that reading a constant costs no time. Used by:
// program.js.
'use strict';
const {namesOf, walk} = require('./syntax.js');

const FUNCTION = /Function/;

// Calls found(target, isShorthand) for each assigned identifier of `tree` that is one of `names` at the program's top
// level. `isShorthand`: in a pattern it stands for `name: name`.
function findAssignments(tree, names, found) {
  const visit = (node, hidden) => {
    const own = namesBelow(node);
    const inner = own.length > 0 ? new Set([...hidden, ...own]) : hidden;
    for (const {target, isShorthand} of targetsOf(node))
      if (names.has(target.name) && !inner.has(target.name)) found(target, isShorthand);
    for (const key in node) {
      for (const child of Array.isArray(node[key]) ? node[key] : [node[key]])
        if (typeof child?.type === 'string') visit(child, inner);
    }
  };
  visit(tree, new Set());
}

// The names that a node declares for the nodes below it, except at the program's top level.
function namesBelow(node) {
  if (FUNCTION.test(node.type)) {
    const own = node.type === 'FunctionExpression' && node.id ? [node.id.name] : [];
    return [...own, ...node.params.flatMap(namesOf), ...variablesIn(node.body)];
  }
  switch (node.type) {
    case 'BlockStatement': case 'StaticBlock': return node.body.flatMap(declaredBy);
    case 'SwitchStatement': return node.cases.flatMap((it) => it.consequent.flatMap(declaredBy));
    case 'ForStatement': return node.init ? declaredBy(node.init) : [];
    case 'ForInStatement': case 'ForOfStatement': return declaredBy(node.left);
    case 'CatchClause': return namesOf(node.param);
    case 'ClassExpression': return node.id ? [node.id.name] : [];
    default: return [];
  }
}

// The names that a statement declares in its block.
function declaredBy({type, kind, id, declarations}) {
  if (type === 'VariableDeclaration') return kind === 'var' ? [] : declarations.flatMap((it) => namesOf(it.id));
  return type === 'FunctionDeclaration' || type === 'ClassDeclaration' ? [id.name] : [];
}

// The names that `var` declares in a function.
function variablesIn(body) {
  const names = [];
  walk(body, (node) => {
    if (node.type === 'VariableDeclaration' && node.kind === 'var') names.push(...node.declarations.flatMap((it) => namesOf(it.id)));
    return !FUNCTION.test(node.type);
  });
  return names;
}

function targetsOf({type, left, argument}) {
  if (type === 'UpdateExpression') return inPattern(argument);
  if (type === 'AssignmentExpression' || /^For(?:In|Of)Statement$/.test(type)) return inPattern(left);
  return [];
}

function inPattern(pattern, isShorthand = false) {
  switch (pattern?.type) {
    case 'Identifier': return [{target: pattern, isShorthand}];
    case 'ObjectPattern': return pattern.properties.flatMap((it) => inPattern(it.value ?? it.argument, it.shorthand));
    case 'ArrayPattern': return pattern.elements.flatMap((it) => inPattern(it));
    case 'RestElement': return inPattern(pattern.argument);
    case 'AssignmentPattern': return inPattern(pattern.left, isShorthand);
    default: return [];
  }
}

module.exports = {findAssignments};
