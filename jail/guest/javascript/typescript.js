// Removes the types of TypeScript, with Debian's node-typescript. Types become spaces, so that lines and columns stay.
// Code that works only when translated (enum, namespace, parameter properties, decorators) is translated by the
// library, with a map of lines. A Node that strips types itself (22.13 on) needs no library. Types are not checked.
'use strict';
const fs = require('fs');
const {blank} = require('./blanking.js');
const {lineMap} = require('./line_map.js');

const INSTALLED = '/usr/share/nodejs/typescript';
const MISSING = 'TypeScript cannot be read here: install the package node-typescript, or a Node.js of 22.13 or later; ' +
  'until then send JavaScript';
const MOST_NEWER = 50; // newer words in a program; the program is parsed again after each
const SATISFIES = /^satisfies\b/;
const SPACES = /^\s*/;
const MODULE = '\nexport {};'; // makes the text a module, in which `await` is a keyword at every level

let ts; // undefined: not loaded; null: not installed
let own;

function load() {
  if (ts === undefined) ts = fs.existsSync(INSTALLED) ? require(INSTALLED) : null;
  own ??= require('module').stripTypeScriptTypes;
}

// Why TypeScript cannot be read; undefined if it can.
function whyNot() {
  load();
  return ts === null && own === undefined ? MISSING : undefined;
}

// {text, optional, lineOf}: the JavaScript; the names that imports need not find, because only types use them; and, if
// lines have moved, a function from a line of `text` to its line of `code`. Call it only if whyNot() is undefined.
// Throws a SyntaxError with `file` and the line.
function strip(code, file) {
  load();
  if (ts !== null) return stripped(code, file);
  return strippedByNode(code);
}

function parse(text) {
  return ts.createSourceFile('execution.ts', text + MODULE, ts.ScriptTarget.ESNext, false, ts.ScriptKind.TS);
}

// {tree, text}: syntax that is newer than the library is replaced by older syntax with the same meaning, in the same
// place. It is searched only where the library reports an error, so that similar text stays; and one at a time, because
// text behind an error may be misread.
function parsed(code) {
  let text = code, tree = parse(text);
  for (let tries = 0; tries < MOST_NEWER && tree.parseDiagnostics.length > 0; tries++) {
    const older = withOlderWord(text, tree.parseDiagnostics[0]) ?? withObject(text);
    if (older === undefined) break;
    text = older;
    tree = parse(text);
  }
  return {tree, text};
}

// `text` with an older word for the newer word at or next to the library's error.
function withOlderWord(text, {start, length}) {
  for (const at of [start, start + length + SPACES.exec(text.slice(start + length))[0].length])
    if (SATISFIES.test(text.slice(at, at + 10))) return written(text, at, 'as       ');
  const [, before] = /[<,]\s*(const\s+)$/.exec(text.slice(Math.max(0, start - 200), start)) ?? [];
  if (before !== undefined) return written(text, start - before.length, '     ');
  const isParameter = /^const\s/.test(text.slice(start, start + 6)) && /[<,]\s*$/.test(text.slice(Math.max(0, start - 200), start));
  return isParameter ? written(text, start, '     ') : undefined;
}

function written(text, at, word) {
  return text.slice(0, at) + word + text.slice(at + word.length);
}

// `text` with its last block as an object in brackets; undefined if the block is not an object.
function withObject(text) {
  const at = text.startsWith('{') ? 0 : text.lastIndexOf('\n{') + 1;
  const object = text.slice(at).trimEnd().replace(/;$/, '');
  if (!object.startsWith('{') || /^\{\s*\}$/.test(object)) return undefined;
  const {parseDiagnostics, statements: [statement]} = parse(`(${object}\n)`);
  if (parseDiagnostics.length > 0 || statement.expression?.expression?.kind !== ts.SyntaxKind.ObjectLiteralExpression)
    return undefined;
  return `${text.slice(0, at)};(${object})${text.slice(at + object.length)}`;
}

// A compiler would rewrite a last block, and the block could no longer be recognized as an object.
function withLastObject(tree, text) {
  const last = tree.statements.at(-2); // the last statement is MODULE
  const isLast = last?.kind === ts.SyntaxKind.Block && text.startsWith('{', last.getStart(tree));
  return isLast ? withObject(text) ?? text : text;
}

function stripped(code, file) {
  const {tree, text} = parsed(code);
  if (tree.parseDiagnostics.length > 0) throw syntaxError(tree.parseDiagnostics[0], code, file);
  const {text: blanked, valueNames, needsMore} = blank(ts, tree, text);
  const optional = {has: (name) => !valueNames.has(name)};
  return needsMore ? {...translated(withLastObject(tree, text)), optional} : {text: blanked, optional};
}

// The text of a file of the workspace as a CommonJS module.
function commonJs(code, file) {
  load();
  if (ts === null) throw new SyntaxError(`${file}: ${MISSING}`);
  return ts.transpileModule(parsed(code).text, {compilerOptions: {...options(), module: ts.ModuleKind.CommonJS,
    esModuleInterop: true, preserveValueImports: false, sourceMap: false}}).outputText;
}

function options() {
  return {target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext, sourceMap: true, experimentalDecorators: true,
    preserveValueImports: true, isolatedModules: true, ignoreDeprecations: '5.0', newLine: ts.NewLineKind.LineFeed};
}

function translated(text) {
  const {outputText, sourceMapText} = ts.transpileModule(text + MODULE, {compilerOptions: options()});
  const js = outputText.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '').replace(/\n?export \{\};\s*$/, '');
  return {text: js, lineOf: lineMap(JSON.parse(sourceMapText).mappings)};
}

const [BEFORE, AFTER] = ['(async () => {', '\n})'];

function strippedByNode(code) {
  const optional = {has: () => true};
  try {
    return {text: own(code, {mode: 'strip'}), optional};
  } catch (e) {
    // Stripped code keeps its lines and columns, also inside a function.
    if (/Return statement is not allowed/.test(e.message))
      return {text: own(BEFORE + code + AFTER, {mode: 'strip'}).slice(BEFORE.length, -AFTER.length), optional};
    if (e.code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') throw e;
  }
  const text = own(code, {mode: 'transform', sourceMap: true});
  const [, map] = /\n\/\/# sourceMappingURL=data:application\/json;base64,(\S+)\s*$/.exec(text) ?? [];
  const {mappings = ''} = map === undefined ? {} : JSON.parse(Buffer.from(map, 'base64').toString());
  return {text, optional, lineOf: lineMap(mappings)};
}

function syntaxError({start, messageText}, code, file) {
  const at = Math.min(start, code.length);
  const before = code.slice(0, at).split('\n');
  const line = code.split('\n')[before.length - 1];
  const error = new SyntaxError(typeof messageText === 'string' ? messageText : messageText.messageText);
  error.stack = `${file}:${before.length}\n${line}\n${' '.repeat(before.at(-1).length)}^\n\n${error}`;
  return error;
}

module.exports = {commonJs, strip, whyNot};
