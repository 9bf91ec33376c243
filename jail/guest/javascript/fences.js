// Removes text that models put around code: Markdown fences with prose before and behind them, and a `#!` line.
'use strict';
const {parse} = require('./syntax.js');

const OPENING = /^\s*(`{3,}|~{3,})[ \t]*\{?\.?([\w+#-]*)[^`]*$/;
const MENTIONS_FENCE = /(?:^|\n)[ \t]*(?:```|~~~)/;
const OURS = ['', 'js', 'javascript', 'mjs', 'cjs', 'jsx', 'node', 'nodejs', 'ecmascript', 'code', 'tool_code',
  'ts', 'typescript', 'mts', 'cts', 'tsx'];

// The code without fences: {code, language}. `language`: the word of the fence, in small letters. Lines keep their
// numbers.
function withoutFences(given) {
  const {code, language} = MENTIONS_FENCE.test(given) ? fenced(given) : {code: given};
  return {code: code.replace(/^(\s*)#!/, '$1//'), language};
}

function fenced(code) {
  const lines = code.split('\n');
  const first = lines.findIndex((line) => OPENING.test(line));
  if (first < 0) return {code};
  const before = lines.slice(0, first).join('\n');
  if (before.trim() !== '' && (isInComment(before) || parse(code) !== undefined)) return {code};
  const blocks = blocksOf(lines, first);
  const [{begin, end}] = blocks;
  // There is only a closing fence.
  if (lines.slice(begin, end).join('').trim() === '' && blocks.length === 1) return {code: before};
  const known = blocks.filter(({language}) => OURS.includes(language));
  const taken = known.length > 0 ? known : blocks.slice(0, 1);
  const kept = lines.map(() => '');
  for (const block of taken) for (let i = block.begin; i < block.end; i++) kept[i] = lines[i];
  return {code: kept.join('\n'), language: taken.find(({language}) => language !== '')?.language ?? ''};
}

// [{begin, end, language}]: the blocks between fences, from line `first` on; the last block may have no end.
function blocksOf(lines, first) {
  const blocks = [];
  let open;
  for (let i = first; i < lines.length; i++) {
    const [, fence, word] = OPENING.exec(lines[i]) ?? [];
    if (fence === undefined) continue;
    if (open === undefined) {
      open = {fence, begin: i + 1, language: word.toLowerCase()};
    } else if (fence[0] === open.fence[0] && fence.length >= open.fence.length && lines[i].trim() === fence) {
      blocks.push({begin: open.begin, end: i, language: open.language});
      open = undefined;
    }
  }
  if (open !== undefined) blocks.push({begin: open.begin, end: lines.length, language: open.language});
  return blocks;
}

// True if a text ends inside a comment; that comment may contain fences.
function isInComment(text) {
  return text.lastIndexOf('/*') > text.lastIndexOf('*/');
}

module.exports = {withoutFences};
