// Numbers of JSON that a JavaScript number does not hold. A whole number beyond Number.MAX_SAFE_INTEGER is a BigInt, in
// both directions; a longer decimal becomes the nearest number, and a note says so.
'use strict';
const process = require('process');

const {parse, stringify} = JSON; // copies, because code may replace them
const MOST_BYTES = 4096;  // of a number, in the supervisor
const MOST_NOTES = 3;     // of one message
const MOST_SHOWN = 60;    // characters of a number in a note
const MOST_PRECISION = 100; // digits of toExponential()

// Text that may have such a number. 1e400 and 12345678901234567 are the shortest ones.
const MAY_BE_LONG = /[\d.]{16}|\d[eE][+-]?\d{3}/;
const NUMBER = /-?\d[\d.eE+-]*/g;
const WHOLE = /^-?\d+$/;

// A number that stringify() cannot write is a text with this mark until it is JSON text. No text of a program has it.
// It is no random number: a zygote must not call Math.random() (copies.js).
const MARK = `\0#${process.hrtime.bigint().toString(36)}#`;
const MARKED = new RegExp(`${stringify(MARK).slice(0, -1).replace(/\\/g, '\\\\')}(-?[\\d.e+-]+)"`, 'g');

// `digits` as a value that written() makes a JSON number of.
function raw(digits) {
  return MARK + digits;
}

// The JSON text with the values of raw() as numbers.
function written(text) {
  return text.includes('\\u0000#') ? text.replace(MARKED, '$1') : text;
}

// The JSON value of a BigInt or a number for stringify(); undefined: it has too many digits.
function jsonOf(number) {
  if (typeof number === 'number') return Object.is(number, -0) ? raw('-0') : number;
  if (Number.isSafeInteger(Number(number))) return Number(number);
  const digits = isShort(number) ? String(number) : '';
  return digits !== '' && digits.length <= MOST_BYTES ? raw(digits) : undefined;
}

// Whether String(number) is quick.
function isShort(number) {
  return BigInt.asIntN(4 * MOST_BYTES, number) === number;
}

// Like jsonOf(), for text that comes back: a number beyond MAX_SAFE_INTEGER is written so that it stays a number.
function returningJsonOf(number) {
  const isLong = typeof number === 'number' && Number.isInteger(number) && !Number.isSafeInteger(number);
  return isLong ? raw(number.toExponential()) : jsonOf(number);
}

// Like JSON.parse(), with BigInt for whole numbers that are no safe integers. `lost`: gets the decimals that a number
// does not hold.
function parseExactly(text, lost = []) {
  if (!MAY_BE_LONG.test(text)) return parse(text);
  let mark = MARK;
  while (text.includes(mark.slice(1))) mark += '#';
  let isMarked = false;
  const marked = outsideOfTexts(text, (segment) => segment.replace(NUMBER, (digits) => {
    const number = Number(digits);
    if (!WHOLE.test(digits)) {
      if (!isHeld(digits, number)) lost.push(digits);
      return digits;
    }
    if (digits.length < 16 || Number.isSafeInteger(number)) return digits;
    isMarked = true;
    return stringify(mark + digits);
  }));
  const value = parse(marked);
  return isMarked ? withBigInts(value, mark) : value;
}

// The text with change(segment) for each segment outside of JSON's texts that may have a long number.
function outsideOfTexts(text, change) {
  const parts = [];
  let kept = 0; // the end of what `parts` has
  for (let at = 0; ;) {
    const quote = text.indexOf('"', at);
    const end = quote < 0 ? text.length : quote;
    if (end - at >= 5) {
      const segment = text.slice(at, end);
      if (MAY_BE_LONG.test(segment)) {
        parts.push(text.slice(kept, at), change(segment));
        kept = end;
      }
    }
    if (quote < 0) break;
    at = endOfText(text, quote) + 1;
    if (at === 0) break; // not JSON: parse() says so
  }
  parts.push(text.slice(kept));
  return parts.join('');
}

// The position of the quote that ends the text which begins at `quote`; -1: it has no end.
function endOfText(text, quote) {
  for (let end = text.indexOf('"', quote + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === 92) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return -1;
}

// `value` with a BigInt in place of each marked text.
function withBigInts(value, mark) {
  const of = (member) => {
    const digits = typeof member === 'string' && member.startsWith(mark) ? member.slice(mark.length) : '';
    return WHOLE.test(digits) ? BigInt(digits) : member;
  };
  const open = [value];
  while (open.length > 0) {
    const container = open.pop();
    if (container === null || typeof container !== 'object') continue;
    for (const key of Object.keys(container)) {
      const member = container[key], changed = of(member);
      if (changed !== member) // __proto__ is an ordinary key here
        Object.defineProperty(container, key, {value: changed, enumerable: true, configurable: true, writable: true});
      else if (member !== null && typeof member === 'object') open.push(member);
    }
  }
  return of(value);
}

// Whether `number`, written with as many digits, is the same decimal.
function isHeld(digits, number) {
  const wanted = decimal(digits);
  if (!Number.isFinite(number)) return false;
  if (wanted.digits === '' || number === 0) return wanted.digits === '' && number === 0;
  if (wanted.digits.length > MOST_PRECISION) return false;
  const held = rounded(number, wanted.digits.length);
  return held.digits === wanted.digits && held.exponent === wanted.exponent;
}

// `number` with `count` digits, as Python writes it: of a number in the middle between two decimals the even one.
// toExponential() takes the larger one.
function rounded(number, count) {
  const longer = decimal(number.toExponential(count));
  const mayBeMiddle = longer.digits.length === count + 1 && longer.digits.endsWith('5');
  if (mayBeMiddle && longer.digits[count - 1] % 2 === 0 && isExactly(number, longer))
    return {digits: longer.digits.slice(0, count), exponent: longer.exponent};
  return decimal(number.toExponential(count - 1));
}

// Whether `number`, without its sign, is exactly this decimal.
function isExactly(number, {digits, exponent}) {
  let whole = Math.abs(number), doublings = 0n;
  for (; !Number.isInteger(whole); doublings++) whole *= 2;
  const tens = BigInt(exponent - digits.length), value = BigInt(digits) << doublings;
  return tens < 0n ? value === BigInt(whole) * 10n ** -tens : value * 10n ** tens === BigInt(whole);
}

// 0.DIGITS * 10 ** exponent, with no zeros at both ends of the digits.
function decimal(text) {
  const [, whole, fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?/.exec(text);
  const digits = (whole + fraction).replace(/^0+/, '');
  return {digits: digits.replace(/0+$/, ''), exponent: Number(exponent) + digits.length - fraction.length};
}

// parseExactly() with a note on standard error for decimals that a number does not hold.
function parseWithNotes(text) {
  const lost = [];
  const note = (sentence) => require('./streams.js').note(sentence);
  const value = parseExactly(text, lost);
  for (const digits of lost.slice(0, MOST_NOTES)) {
    const shown = digits.length > MOST_SHOWN ? `${digits.slice(0, MOST_SHOWN)}...` : digits;
    note(`${shown} is not held by a number: here it is ${Number(digits)}; send it as a text to keep its digits`);
  }
  if (lost.length > MOST_NOTES) note(`${lost.length - MOST_NOTES} more numbers are not held by JavaScript's numbers`);
  return value;
}

module.exports = {jsonOf, parseExactly, parseWithNotes, returningJsonOf, written};
