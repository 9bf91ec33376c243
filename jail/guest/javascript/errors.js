// An error as text for the agent: only lines of the agent's files, with their text, every cause, and advice.
'use strict';
const {inspect} = require('util');
const {advise, hiddenCause} = require('./advice.js');

const FILE = '<execution>';
const PROGRAM = /^<execution(?: \d+)?>$/;
const TEXT_LIMIT = 256 * 1024;
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

function ownFrames(stack, isOwn, programs) {
  const lines = stack.split('\n');
  const first = lines.findIndex((line) => FRAME.test(line) || /^\s+at /.test(line));
  if (first < 0) return lines;
  const kept = lines.slice(0, first);
  for (const line of lines.slice(first)) {
    const [, file, number, column] = FRAME.exec(line) ?? [];
    if (file === undefined || !isOwn(file.replace(/^async /, ''))) continue;
    const program = file.replace(/^.*(<execution)/, '$1');
    const own = placeIn(programs, program, Number(number), Number(column));
    kept.push(line.replace(`${file}:${number}:${column}`, `${file}:${own.line}:${own.column}`).replace('__warder_', ''));
    if (own.text) kept.push(`        ${own.text.slice(0, 400)}`);
  }
  return kept;
}

// {error, traceback, errno?}. `about`: {programs: {lines, lineOf?, columnOf?} by file name, roots: folders of the
// agent's own files, code, language, unbound, missing: see advice.js}.
function describe(error, about) {
  const isOwn = (file) => {
    const name = file.replace(/^file:\/\//, '').replace(/^eval at .*\(/, '');
    return PROGRAM.test(name.slice(name.lastIndexOf('<'))) || name === '<anonymous>' ||
      about.roots.some((root) => name.startsWith(`${root}/`));
  };
  const own = (told) => ownFrames(String(told.stack), isOwn, about.programs).join('\n');
  const parts = [];
  try {
    const seen = new Set();
    for (let at = error; at instanceof Error && !seen.has(at) && parts.length < 20; at = at.cause) {
      seen.add(at);
      const prefix = parts.length > 0 ? '[cause]: ' : '';
      parts.push(prefix + own(at));
      for (const member of Array.isArray(at.errors) ? at.errors.slice(0, 20) : [])
        parts.push(`[errors]: ${member instanceof Error ? own(member) : inspect(member)}`);
    }
  } catch (e) { // a getter of the agent threw
    parts.push('the rest of the error cannot be read');
  }
  const told = {error: headline(error, about)};
  told.traceback = shortened(parts.length > 0 ? parts.join('\n') : told.error, TEXT_LIMIT);
  if (error instanceof Error && Number.isInteger(error.errno) && typeof error.code === 'string')
    told.errno = Math.abs(error.errno);
  return told;
}

module.exports = {describe, FILE};
