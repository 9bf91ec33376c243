// Elements and text. All data from the daemon become text nodes, never markup. A value that is not known is "–".
"use strict";

const UNKNOWN = "–";
const $ = (id) => document.getElementById(id);

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const known = (value) => value !== null && value !== undefined;

function bytes(count) {
  if (!known(count)) return UNKNOWN;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  for (; count >= 1000 && unit < units.length - 1; unit++) count /= 1000;
  return `${count < 10 && unit > 0 ? count.toFixed(1) : Math.round(count)} ${units[unit]}`;
}

// 950 µs, 1.23 ms, 45.0 s, 12 min 5 s, 3 h 20 min, 2 d 4 h
function duration(usec) {
  if (!known(usec)) return UNKNOWN;
  if (usec < 1e3) return `${Math.round(usec)} µs`;
  if (usec < 1e6) return `${short(usec / 1e3)} ms`;
  if (usec < 60e6) return `${short(usec / 1e6)} s`;
  const seconds = Math.floor(usec / 1e6);
  if (seconds < 3600) return joined(Math.floor(seconds / 60), "min", seconds % 60, "s");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 2880) return joined(Math.floor(minutes / 60), "h", minutes % 60, "min");
  return joined(Math.floor(minutes / 1440), "d", Math.floor(minutes / 60) % 24, "h");
}
const joined = (big, unit, small, smaller) => small ? `${big} ${unit} ${small} ${smaller}` : `${big} ${unit}`;

// Three digits, without zeros at the end: 1.23, 12.3, 123, 5.
function short(value) {
  return Number(value < 100 ? value.toPrecision(3) : value.toFixed(0)).toString();
}

const count = (value) => known(value) ? value.toLocaleString("en") : UNKNOWN;
const percent = (share) => known(share) ? `${short(share * 100)} %` : UNKNOWN;
const sum = (counts) => Object.values(counts ?? {}).reduce((all, one) => all + one, 0);

// A short duration between two times of the server, in words for a table: 12 s, 3 min, 2 h.
function age(usec) {
  const seconds = Math.max(0, Math.floor(usec / 1e6));
  if (seconds < 60) return `${seconds} s`;
  return seconds < 3600 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3600)} h`;
}

function clock(ms, withSeconds) {
  return new Date(ms).toLocaleTimeString("en-GB", withSeconds ? {} : {hour: "2-digit", minute: "2-digit"});
}

// Replaces the rows of a table, and shows `empty` in its place if there are none.
function fill(name, rows, empty) {
  $(name).hidden = rows.length === 0;
  $(`no-${name}`).hidden = rows.length > 0;
  $(`no-${name}`).textContent = empty;
  $(name).tBodies[0].replaceChildren(...rows);
}

// A row of cells: [class, text or node].
function row(properties, ...cells) {
  return element("tr", properties, ...cells.map(([className, content]) => {
    const cell = element("td", {className});
    cell.append(content);
    return cell;
  }));
}

async function get(path) {
  const answer = await fetch(path, {cache: "no-store"});
  const told = await answer.json().catch(() => null);
  if (!answer.ok || told === null) throw new Error(told?.error ?? `warder dashboard answers ${answer.status}`);
  return told;
}

// Returns the reason why the daemon did not do it; empty: it did.
async function act(action, id, reason) {
  try {
    const answer = await fetch("act", {method: "POST", headers: {"Content-Type": "application/json"},
                                       body: JSON.stringify({action, id, reason})});
    if (answer.ok) return "";
    return (await answer.json().catch(() => null))?.error ?? `warder dashboard answers ${answer.status}`;
  } catch (error) {
    return `warder dashboard cannot be reached: ${error.message}`;
  }
}
