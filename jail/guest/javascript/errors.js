// An error as text for the agent: only lines of the agent's files, with their text; of its causes those with such lines,
// and the first one; and advice. A long text stands in `error` or in the traceback, not in both.
'use strict';
const {inspect} = require('util');
const {advise, hiddenCause} = require('./advice.js');

const FILE = '<execution>';
const PROGRAM = /^<execution(?: \d+)?>$/;
const TEXT_LIMIT = 16 * 1024;
const SHORT = 80; // characters; a text of this length may stand twice
const MOST_SHOWN = 20; // causes, and errors of an AggregateError
const FRAME = /^\s+at (?:.*\()?(.*?):(\d+):(\d+)\)?$/;

function shortened(text, limit) {
  if (text.length <= limit) return text;
  const half = limit >> 1;
  return `${text.slice(0, half)}\n... ${text.length - 2 * half} characters left out ...\n${text.slice(-half)}`;
}

function headline(error, about) {
  let text;
  try {
    text = error instanceof Error ? String(error) : `Uncaught ${inspect(error)}`;
    const cause = hiddenCause(error);
    if (cause) text += `: ${cause}`;
  } catch (e) { // toString() may be the agent's code
    text = 'an error whose text cannot be read';
  }
  const advice = advise(error, about);
  if (error?.code === 'MODULE_NOT_FOUND') [text] = text.split('\nRequire stack:');
  return shortened(text, 16 * 1024) + (advice && `; ${advice}`);
}

// The place in a program as the agent wrote it, and the text of that line.
function placeIn(programs, file, line, column) {
  const program = programs.get(file);
  if (program === undefined) return {line, column};
  const own = program.lineOf?.(line) ?? line;
  return {line: own, column: program.columnOf?.(line, column) ?? column, text: program.lines[own - 1]?.trim()};
}

// The text of an error's stack, and its frames of the agent's files. `head`: the lines before the first frame.
function ownFrames(stack, isOwn, programs) {
  const lines = stack.split('\n');
  const first = lines.findIndex((line) => FRAME.test(line) || /^\s+at /.test(line));
  if (first < 0) return {head: stack, frames: []};
  const frames = [];
  for (const line of lines.slice(first)) {
    const [, file, number, column] = FRAME.exec(line) ?? [];
    if (file === undefined || !isOwn(file.replace(/^async /, ''))) continue;
    const program = file.replace(/^.*(<execution)/, '$1');
    const own = placeIn(programs, program, Number(number), Number(column));
    frames.push(line.replace(`${file}:${number}:${column}`, `${file}:${own.line}:${own.column}`).replace('__warder_', ''));
    if (own.text) frames.push(`        ${own.text.slice(0, 400)}`);
  }
  return {head: lines.slice(0, first).join('\n'), frames};
}

function isLong(text) {
  return text.length > SHORT || text.includes('\n');
}

// Adds the parts of a traceback to `found`: the error, then its causes. `own`: see ownFrames(). `summary`: the error's
// headline.
function addParts(found, error, own, summary) {
  const seen = new Set();
  for (let at = error; at instanceof Error && !seen.has(at) && seen.size < 1000; at = at.cause) {
    seen.add(at);
    const {head, frames} = own(at);
    const message = String(at.message);
    const isFirstCause = !(at.cause instanceof Error);
    const isKnown = at === error || summary.includes(message);
    if (at !== error && frames.length === 0 && (isKnown || !isFirstCause)) continue;
    if (found.length > MOST_SHOWN && !isFirstCause) continue;
    const isTold = frames.length > 0 && isKnown && isLong(message) && head.endsWith(message);
    const text = isTold ? head.slice(0, -message.length).replace(/: $/, '') : head;
    found.push([(at === error ? '' : '[cause]: ') + text, ...frames].join('\n'));
    for (const member of Array.isArray(at.errors) ? at.errors.slice(0, MOST_SHOWN) : []) {
      const told = member instanceof Error ? own(member) : {head: inspect(member), frames: []};
      found.push([`[errors]: ${told.head}`, ...told.frames].join('\n'));
    }
  }
}

// {error, traceback, errno?}. `about`: {programs: {lines, lineOf?, columnOf?} by file name, roots: folders of the
// agent's own files, code, language, unbound, missing: see advice.js}.
function describe(error, about) {
  const isOwn = (file) => {
    const name = file.replace(/^file:\/\//, '').replace(/^eval at .*\(/, '');
    return PROGRAM.test(name.slice(name.lastIndexOf('<'))) || name === '<anonymous>' ||
      about.roots.some((root) => name.startsWith(`${root}/`));
  };
  const own = (at) => ownFrames(String(at.stack), isOwn, about.programs);
  const told = {error: headline(error, about)};
  const found = [];
  try {
    addParts(found, error, own, told.error);
  } catch (e) { // a getter of the agent threw
    found.push('the rest of the error cannot be read');
  }
  told.traceback = shortened(found.length > 0 ? found.join('\n') : told.error, TEXT_LIMIT);
  if (error instanceof Error && Number.isInteger(error.errno) && typeof error.code === 'string')
    told.errno = Math.abs(error.errno);
  return told;
}

module.exports = {describe, FILE};
