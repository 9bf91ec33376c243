// Lists of names for an agent, and the nearest name to a misspelt one.
'use strict';

// The number of letters to add, remove or replace, up to `most`; a larger number is `most` + 1.
function distance(a, b, most) {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let row = Array.from({length: b.length + 1}, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length];
}

// " (did you mean 'x'?)", or an empty text.
function nearest(name, names) {
  const plain = (text) => text.toLowerCase().replace(/[^a-z0-9]/g, '');
  const wanted = plain(name);
  let best, least = 1 + Math.min(2, wanted.length >> 2);
  for (const candidate of names.slice(0, 5000)) {
    const away = distance(wanted, plain(candidate), least);
    if (away < least) [best, least] = [candidate, away];
  }
  return best === undefined ? '' : ` (did you mean '${best}'?)`;
}

const MOST_NAMES = 40;

function listed(names) {
  const some = names.slice(0, MOST_NAMES).join(', ');
  return names.length > MOST_NAMES ? `${some}, ...` : some;
}

module.exports = {listed, nearest};
