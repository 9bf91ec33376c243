// Line numbers from source maps. Source: the ECMA-426 format, with mappings in Base64 VLQ. Used by: typescript.js.
'use strict';

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

// The numbers of one segment.
function numbersOf(segment) {
  const numbers = [];
  let value = 0, shift = 0;
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value += (bits & 31) * 2 ** shift;
    shift += 5;
    if (bits & 32) continue;
    numbers.push(value % 2 === 1 ? -Math.floor(value / 2) : value / 2);
    value = shift = 0;
  }
  return numbers;
}

// A function from a line to its line in the source; if the line has no mapping, the mapping of the line before. Both
// from 1.
function lineMap(mappings) {
  const lines = [];
  let source = 0;
  for (const group of mappings.split(';')) {
    let first;
    for (const segment of group.split(',')) {
      const [, , moved] = numbersOf(segment);
      if (moved === undefined) continue;
      source += moved;
      first ??= source + 1;
    }
    lines.push(first ?? lines.at(-1) ?? 1);
  }
  return (line) => lines[Math.min(line, lines.length) - 1] ?? line;
}

module.exports = {lineMap};
