// Draws the numbers that `warder dashboard` sends once a second. All data from the daemon become text, never markup.
"use strict";

const SHOWN_MS = [60_000, 600_000]; // at least, at most
const history = []; // moments, oldest first; each as in state.json
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

// 2^64-1 and absent numbers are not known.
const is_unknown = (value) => value === undefined || value >= 2 ** 63;

function bytes(count) {
  if (is_unknown(count)) return "-";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  for (; count >= 1000 && unit < units.length - 1; unit++) count /= 1000;
  return `${count < 10 && unit > 0 ? count.toFixed(1) : Math.round(count)} ${units[unit]}`;
}

function duration(usec) {
  if (is_unknown(usec)) return "-";
  if (usec < 1e3) return `${Math.round(usec)} µs`;
  if (usec < 1e6) return `${(usec / 1e3).toPrecision(3)} ms`;
  if (usec < 60e6) return `${(usec / 1e6).toPrecision(3)} s`;
  const minutes = Math.floor(usec / 60e6);
  return minutes < 120 ? `${minutes} min` : minutes < 2880 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1440)} d`;
}

const count = (value) => value.toLocaleString("en");
const sum = (counts) => Object.values(counts).reduce((all, one) => all + one, 0);

// The increase of a counter between two moments, per second; null after a restart, when counters begin at 0 again.
function rate(of) {
  return (moment, before) => {
    const more = of(moment) - (before ? of(before) : NaN);
    return more >= 0 ? more * 1000 / (moment.t - before.t) : null;
  };
}

const ok = (moment) => moment.outcomes.ok ?? 0;
const PLOTS = [
  {name: "Executions a second", show: (v) => v.toFixed(v < 10 ? 1 : 0), series: [
    ["ok", "c", rate(ok)],
    ["other outcomes", "bad", rate((m) => sum(m.outcomes) - ok(m))],
    ["refused", "b", rate((m) => sum(m.refusals))]]},
  {name: "Time to the answer", show: duration, series: [
    ["p50", "a", (m) => m.p50 || null],
    ["p99", "b", (m) => m.p99 || null]]},
  {name: "Executions and jails", show: (v) => v.toFixed(0), series: [
    ["running", "a", (m) => m.running],
    ["waiting", "b", (m) => m.waiting],
    ["jails that wait", "c", (m) => m.waiting_jails]]},
  {name: "Memory", show: bytes, series: [["of executions and waiting jails", "d", (m) => m.memory_bytes]]},
  {name: "Processors", show: (v) => v.toFixed(2), series: [["busy with executions", "a", rate((m) => m.cpu_usec / 1e6)]]},
];

// The smallest of 1, 2, 5 or 10 times a power of ten that is not below the value.
function round_up(value) {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value);
}

function plot({name, show, series}) {
  const width = 400, height = 120, end = history.at(-1)?.t ?? 0;
  const span = Math.max(SHOWN_MS[0], end - (history[0]?.t ?? 0));
  const lines = series.map(([label, color, of]) => [label, color, history.map((m, i) => [m.t, of(m, history[i - 1])])]);
  const most = round_up(Math.max(0, ...lines.flatMap(([, , points]) => points.map(([, value]) => value ?? 0))));
  const picture = svg("svg", {viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": name});
  for (const part of [0, 0.5, 1]) {
    const y = 8 + (height - 16) * (1 - part);
    picture.append(svg("line", {x1: 0, x2: width, y1: y, y2: y}));
  }
  for (const [label, color, points] of lines) {
    let d = "";
    for (const [t, value] of points) {
      if (value === null) continue;
      const x = width * (1 - (end - t) / span), y = 8 + (height - 16) * (1 - value / most);
      d += `${d ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    }
    if (d) picture.append(svg("path", {d, class: color, "data-series": label}));
  }
  const caption = element("figcaption", {}, element("b", {textContent: name}));
  for (const [label, color, points] of lines) {
    const last = points.at(-1)?.[1];
    caption.append(element("i", {className: color, textContent: `${label} ${last == null ? "–" : show(last)}`}));
  }
  caption.append(element("span", {textContent: `up to ${show(most)}, ${duration(span * 1000)}`}));
  return element("figure", {}, caption, picture);
}

function number(label, value) {
  return element("div", {}, element("b", {textContent: value}), element("span", {textContent: label}));
}

function row(...cells) {
  return element("tr", {}, ...cells.map(([className, content]) => {
    const cell = element("td", {className});
    cell.append(content);
    return cell;
  }));
}

function show_numbers(manager) {
  $("numbers").replaceChildren(
    number("running", count(manager.Running)),
    number("waiting", count(manager.Waiting)),
    number("frozen", count(manager.Frozen)),
    number("jails that wait", count(manager.WaitingJails)),
    number("executions", count(manager.Executions)),
    number("p50, newest answers", duration(manager.AnswerUSec.p50)),
    number("p99, newest answers", duration(manager.AnswerUSec.p99)),
    number("tokens that stayed out, about", count(manager.Ledger.kept_out_tokens_estimated ?? 0)));
}

function show_executions(executions) {
  $("no-executions").hidden = executions.length > 0;
  $("executions").tBodies[0].replaceChildren(...executions.map((one) => {
    const ended = one.State === "ended";
    return row(["id", one.Id], ["", one.Tenant], ["", one.Language],
               [ended && one.Outcome !== "ok" ? "bad" : "", ended ? one.Outcome : one.State],
               ["n", duration(one.WallUSec)], ["n", duration(one.CPUUSec)], ["n", bytes(one.MemoryBytes)],
               ["n", ended ? "" : count(one.Tasks)]);
  }));
}

function show_tenants(tenants) {
  $("no-tenants").hidden = tenants.length > 0;
  $("tenants").tBodies[0].replaceChildren(...tenants.map((one) => {
    const held = element("span", {}, element("meter", {max: one.QuotaBytes || 1, value: one.WorkspaceBytes}),
                         ` ${bytes(one.WorkspaceBytes)} of ${bytes(one.QuotaBytes)}`);
    return row(["", one.Name], ["", one.Policy], ["n", count(one.Connections)], ["n", count(one.Running)],
               ["n", count(one.Waiting)], ["n", count(one.Executions)], ["n", duration(one.CPUUsageUSec)], ["", held]);
  }));
}

function show(state) {
  $("problem").hidden = !state.problem;
  $("problem").textContent = state.problem ?? "";
  history.push(...state.history);
  while (history.length > 0 && history.at(-1).t - history[0].t > SHOWN_MS[1]) history.shift();
  if (!state.manager) return;
  const {manager} = state;
  $("daemon").textContent = `warderd ${manager.Version}, ${manager.State}, up ${duration(state.now * 1000 - manager.StartedUSec)}`;
  show_numbers(manager);
  $("plots").replaceChildren(...PLOTS.map(plot));
  show_executions(state.executions);
  show_tenants(state.tenants);
}

async function look() {
  try {
    const answer = await fetch(`state.json?since=${history.at(-1)?.t ?? 0}`, {cache: "no-store"});
    if (!answer.ok) throw new Error(`it answers ${answer.status}`);
    show(await answer.json());
  } catch (error) {
    $("problem").hidden = false;
    $("problem").textContent = `warder dashboard cannot be reached: ${error.message}`;
  }
  setTimeout(look, 1000);
}

look();
