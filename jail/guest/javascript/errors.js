// An error as the agent should read it: its own lines only, with their text, and every cause.
'use strict';
const {inspect} = require('util');

const FILE = '<execution>';
const TEXT_LIMIT = 256 * 1024;
const FRAME = /^\s+at (?:.*\()?(.*?):(\d+):\d+\)?$/;

function shortened(text, limit) {
  if (text.length <= limit) return text;
  const half = limit >> 1;
  return `${text.slice(0, half)}\n... ${text.length - 2 * half} characters left out ...\n${text.slice(-half)}`;
}

function headline(error) {
  let text;
  try {
    text = error instanceof Error ? String(error) : `Uncaught ${inspect(error)}`;
  } catch (e) { // its toString() is the agent's code
    text = 'an error whose text cannot be read';
  }
  if (error instanceof SyntaxError && /import statement|Unexpected token 'export'|'import\.meta'/.test(text))
    text += '; use require() or await import() here';
  return shortened(text, 16 * 1024);
}

function ownFrames(stack, isOwn, source) {
  const lines = stack.split('\n');
  const first = lines.findIndex((line) => FRAME.test(line) || /^\s+at /.test(line));
  if (first < 0) return lines;
  const kept = lines.slice(0, first);
  for (const line of lines.slice(first)) {
    const [, file, number] = FRAME.exec(line) ?? [];
    if (file === undefined || !isOwn(file.replace(/^async /, ''))) continue;
    kept.push(line);
    const text = file.endsWith(FILE) ? source[number - 1]?.trim() : undefined;
    if (text) kept.push(`        ${text.slice(0, 400)}`);
  }
  return kept;
}

// {error, traceback, errno?}. `roots` are the folders whose files are the agent's own.
function describe(error, code, roots) {
  const source = code.split('\n');
  const isOwn = (file) => {
    const name = file.replace(/^file:\/\//, '').replace(/^eval at .*\(/, '');
    return name.endsWith(FILE) || name === '<anonymous>' || roots.some((root) => name.startsWith(`${root}/`));
  };
  const own = (told) => ownFrames(String(told.stack), isOwn, source).join('\n');
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
  } catch (e) { // a getter of the agent's
    parts.push('the rest of the error cannot be read');
  }
  const told = {error: headline(error)};
  told.traceback = shortened(parts.length > 0 ? parts.join('\n') : told.error, TEXT_LIMIT);
  if (error instanceof Error && Number.isInteger(error.errno) && typeof error.code === 'string')
    told.errno = Math.abs(error.errno);
  return told;
}

module.exports = {describe, FILE};
