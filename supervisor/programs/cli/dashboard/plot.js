// Plots of the daemon's timeline: axes, ticks, and the values at the pointer.
"use strict";

// Seconds shown, seconds of a step, seconds between two ticks.
const RANGES = [["10 min", 600, 10, 120], ["1 h", 3600, 60, 600], ["24 h", 86400, 1200, 14400]];
let range = RANGES[0];
let timeline = null;  // {from, now, step, moments, answers}; each moment has its columns by name, and t in ms
let pointed = null;   // the time in ms at the pointer
const MARGIN = {left: 52, right: 8, top: 10, bottom: 20};

const OUTCOMES = /^[a-z_]+$/;
const bad = (m) => Object.keys(m).filter((key) => OUTCOMES.test(key) && key !== "t" && key !== "ok")
                                 .reduce((all, key) => all + m[key], 0);
const PLOTS = [
  {name: "Executions a second", show: (v) => short(v), bars: true, least: 1, series: [
    ["ok", "c", (m) => m.ok / m.Seconds],
    ["other outcomes", "red", (m) => bad(m) / m.Seconds]]},
  {name: "Time to the answer", show: duration, least: 1000, series: [
    ["p50", "a", (m) => m.AnswerP50USec],
    ["p99", "b", (m) => m.AnswerP99USec]]},
  {name: "Executions", show: (v) => short(v), least: 4, whole: true, series: [
    ["running", "a", (m) => m.Running],
    ["waiting", "b", (m) => m.Waiting],
    ["frozen", "d", (m) => m.Frozen]]},
  {name: "Processors busy with executions", show: (v) => short(v), least: 1, series: [
    ["CPUs", "a", (m) => known(m.CPUUSec) ? m.CPUUSec / 1e6 / m.Seconds : null]]},
  {name: "Memory of executions and idle jails", show: bytes, least: 1e6, series: [["memory", "d", (m) => m.MemoryBytes]]},
  {name: "Idle jails of the warm pool", show: (v) => short(v), least: 4, whole: true, series: [
    ["idle", "c", (m) => m.WaitingJails]]},
];

function take_timeline(told) {
  const moments = told.rows.map((values) => {
    const moment = Object.fromEntries(told.columns.map((name, i) => [name, values[i]]));
    moment.t = moment.TimeUSec / 1000;
    return moment;
  });
  timeline = {from: told.from, now: told.now, step: range[2] * 1000, moments, answers: told.answers};
  draw_plots();
}

// The smallest of 1, 2, 5 or 10 times a power of ten that is not below the value.
function round_up(value) {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value * 0.999);
}

function describe(series, show, moment) {
  return series.map(([label, color, of]) => {
    const value = moment ? of(moment) : null;
    return element("i", {className: color, textContent: `${label} ${known(value) ? show(value) : UNKNOWN}`});
  });
}

function moment_at(time) {
  if (time === null) return timeline.moments.at(-1);
  return timeline.moments.find((m) => time >= m.t && time < m.t + timeline.step);
}

// A line, broken where a value is not known or a step has no moment. A value alone becomes a short stroke.
function line_path(points, y) {
  let d = "", before = null;
  for (const {x, value, t} of points) {
    if (!known(value)) { before = null; continue; }
    d += before !== null && t - before <= timeline.step ? `L${x.toFixed(1)} ${y(value).toFixed(1)}`
                                                         : `M${(x - 1.5).toFixed(1)} ${y(value).toFixed(1)}h1.5`;
    before = t;
  }
  return d;
}

function bar_path(points, bases, y, width) {
  return points.map(({x, value}, i) => {
    if (!value) return "";
    const low = y(bases[i]), high = Math.min(y(bases[i] + value), low - 1);
    bases[i] += value;
    return `M${(x - width / 2).toFixed(1)} ${low.toFixed(1)}V${high.toFixed(1)}h${width.toFixed(1)}V${low.toFixed(1)}z`;
  }).join("");
}

function axes(picture, {show, whole}, most, x, y, width, height) {
  const parts = whole && most % 2 ? [0, 1] : [0, 0.5, 1];
  for (const part of parts) {
    const at = y(most * part);
    picture.append(svg("line", {class: part ? "grid" : "axis", x1: MARGIN.left, x2: width - MARGIN.right, y1: at, y2: at}),
                   svg("text", {x: MARGIN.left - 6, y: at + 4, "text-anchor": "end"}, part ? show(most * part) : "0"));
  }
  const tick = range[3] * 1000, offset = new Date(timeline.now).getTimezoneOffset() * 60_000;
  for (let t = Math.ceil((timeline.from - offset) / tick) * tick + offset; t <= timeline.now; t += tick) {
    const at = x(t);
    picture.append(svg("line", {class: "axis", x1: at, x2: at, y1: height - MARGIN.bottom, y2: height - MARGIN.bottom + 4}));
    if (at > MARGIN.left + 12 && at < width - 18)
      picture.append(svg("text", {x: at, y: height - 4, "text-anchor": "middle"}, clock(t, false)));
  }
}

function draw(figure, plot) {
  const {name, show, series, bars, least} = plot;
  const picture = figure.querySelector("svg");
  const width = picture.clientWidth || 400, height = picture.clientHeight || 150;
  const from = timeline.from, until = Math.max(timeline.now, from + 1);
  const x = (t) => MARGIN.left + (width - MARGIN.left - MARGIN.right) * (t - from) / (until - from);
  const middle = (m) => Math.min(m.t + m.Seconds * 500, until);
  const lines = series.map(([label, color, of]) =>
    [label, color, timeline.moments.map((m) => ({t: m.t, x: x(middle(m)), value: of(m)}))]);
  const tops = timeline.moments.map((_, i) => {
    const values = lines.map(([, , points]) => points[i].value ?? 0);
    return bars ? values.reduce((all, one) => all + one, 0) : Math.max(...values);
  });
  const most = round_up(Math.max(least, ...tops));
  const y = (value) => height - MARGIN.bottom - (height - MARGIN.top - MARGIN.bottom) * value / most;
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.replaceChildren();
  axes(picture, plot, most, x, y, width, height);
  const bases = timeline.moments.map(() => 0);
  const bar = Math.max(1.5, (width - MARGIN.left - MARGIN.right) * timeline.step / (until - from) - 1.5);
  for (const [label, color, points] of lines) {
    const d = bars ? bar_path(points, bases, y, bar) : line_path(points, y);
    if (d) picture.append(svg("path", {d, class: bars ? `bars ${color}` : color, "data-series": label}));
  }
  const at = moment_at(pointed);
  if (pointed !== null && at) {
    picture.append(svg("line", {class: "at", x1: x(middle(at)), x2: x(middle(at)), y1: MARGIN.top, y2: height - MARGIN.bottom}));
    for (const [, color, of] of bars ? [] : series)
      if (known(of(at))) picture.append(svg("circle", {class: color, cx: x(middle(at)), cy: y(of(at)), r: 3}));
  }
  figure.querySelector("figcaption").replaceChildren(element("b", {textContent: name}), ...describe(series, show, at));
}

function draw_plots() {
  $("no-plots").hidden = timeline !== null && timeline.moments.length > 0;
  $("no-plots").textContent = timeline ? "The daemon has no history yet: it has just started." : "The history is not known yet.";
  if (!timeline) return;
  const figures = $("plots").children;
  PLOTS.forEach((plot, i) => draw(figures[i], plot));
  const at = pointed === null ? null : moment_at(pointed);
  $("reading").textContent = pointed === null ? `newest values; ${range[2]} s are one point` :
    at ? `${clock(at.t, true)} – ${clock(at.t + at.Seconds * 1000, true)}` : "no history at this time";
}

function point(event) {
  const picture = event.currentTarget, box = picture.getBoundingClientRect();
  if (!timeline) return;
  const share = (event.clientX - box.left - MARGIN.left) / (box.width - MARGIN.left - MARGIN.right);
  pointed = share < 0 || share > 1 ? null : timeline.from + share * (timeline.now - timeline.from);
  draw_plots();
}

function point_away() {
  pointed = null;
  draw_plots();
}

function point_by_key(event) {
  const steps = {ArrowLeft: -1, ArrowRight: 1}[event.key];
  if (event.key === "Escape") point_away();
  if (!steps || !timeline) return;
  event.preventDefault();
  pointed = Math.min(Math.max((pointed ?? timeline.now - 1) + steps * timeline.step, timeline.from), timeline.now - 1);
  draw_plots();
}

function make_plots(changed) {
  $("plots").replaceChildren(...PLOTS.map(({name}) => {
    const picture = svg("svg", {role: "img", "aria-label": name, tabindex: "0"});
    picture.addEventListener("pointermove", point);
    picture.addEventListener("pointerdown", point);
    picture.addEventListener("pointerleave", point_away);
    picture.addEventListener("keydown", point_by_key);
    return element("figure", {}, element("figcaption", {}, element("b", {textContent: name})), picture);
  }));
  $("ranges").replaceChildren(...RANGES.map((one) => {
    const button = element("button", {type: "button", textContent: one[0]});
    button.setAttribute("aria-pressed", one === range);
    button.addEventListener("click", () => {
      range = one;
      pointed = null;
      for (const other of $("ranges").children) other.setAttribute("aria-pressed", other === button);
      changed();
    });
    return button;
  }));
  new ResizeObserver(draw_plots).observe($("plots"));
}
