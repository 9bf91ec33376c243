// One execution in a dialog: its data, its receipt, its output, and the actions on it.
"use strict";

const MOST_SHOWN = 1_000_000;  // characters of each stream; older ones are dropped
let opened = null;  // {id, one, record, read, looks, streams, pres, gone, problem, asks, looking}

function facts(pairs, className = "") {
  return element("dl", {className}, ...pairs.flatMap(([name, value]) => {
    const content = element("dd");
    content.append(value);
    return [element("dt", {textContent: name}), content];
  }));
}

// The receipt's values as lines "a.b: value".
function receipt_facts(text) {
  const pairs = [];
  const walk = (name, value) => {
    if (value !== null && typeof value === "object" && !Array.isArray(value))
      for (const [key, inner] of Object.entries(value)) walk(name ? `${name}.${key}` : key, inner);
    else pairs.push([name, Array.isArray(value) ? value.map((v) => typeof v === "object" ? JSON.stringify(v) : v).join(", ") || "none"
                                                : String(value)]);
  };
  try {
    walk("", JSON.parse(text));
  } catch {
    return element("pre", {textContent: text});
  }
  return facts(pairs, "receipt");
}

function limit_text(limits) {
  if (!limits || !limits.MemoryBytes) return UNKNOWN;
  return `${duration(limits.WallUSec)}, ${bytes(limits.MemoryBytes)}, ${count(limits.Tasks)} tasks, ${limits.CPUs} ${limits.CPUs === 1 ? "CPU" : "CPUs"}, ` +
         `${bytes(limits.OutputBytes)} of output`;
}

function fact_list(one) {
  const ended = one.State === "ended";
  return facts([
    ["State", ended ? `ended: ${one.Outcome}` : one.State],
    ...(one.Message ? [["Message", one.Message]] : []),
    ["Tenant", tenant_name(one.Tenant)],
    ["Language", one.Language || UNKNOWN],
    ["Policy", one.Policy],
    ["Client", `${one.Principal || `uid:${one.UID ?? UNKNOWN}`}${known(one.PID) && one.PID < 4294967295 ? `, process ${one.PID}` : ""}`],
    ["Asked", new Date(one.AskedUSec / 1000).toLocaleString("en-GB")],
    ...(ended && known(one.EndedUSec) ? [["Ended", new Date(one.EndedUSec / 1000).toLocaleString("en-GB")]] : []),
    ["Wall time", duration(one.WallUSec)],
    ["CPU time", duration(cpu_usec(one))],
    [ended ? "Memory, highest" : "Memory", bytes(one.MemoryBytes || null)],
    [ended ? "Tasks, highest" : "Tasks", count(one.Tasks || null)],
    ["Limits", limit_text(one.Limits)],
    ...(one.Approvals?.length ? [["Waits for approval of", one.Approvals.join(", ")]] : []),
  ]);
}

function action_button(text, action, className = "") {
  const button = element("button", {type: "button", textContent: text, className});
  button.addEventListener("click", async () => {
    button.disabled = true;
    const {id} = opened;
    const problem = await act(action, id);
    if (opened?.id !== id) return;
    opened.asks = false;
    opened.problem = problem;
    await look_at_details();
  });
  return button;
}

// Killing asks first.
function actions(one) {
  const all = element("div", {className: "actions"});
  if (one.State !== "ended" && state.user.may_act) {
    if (opened.asks) {
      const no = element("button", {type: "button", textContent: "No"});
      no.addEventListener("click", () => { opened.asks = false; draw_details(); });
      all.append(`End ${one.Id} now?`, action_button("Yes, kill it", "kill", "bad"), no);
    } else {
      const kill = element("button", {type: "button", textContent: "Kill…", className: "bad"});
      kill.addEventListener("click", () => { opened.asks = true; draw_details(); });
      all.append(one.State === "frozen" ? action_button("Thaw", "thaw") : action_button("Freeze", "freeze"), kill);
    }
  }
  if (opened.problem) all.append(element("p", {className: "problem", textContent: opened.problem}));
  return all;
}

function output_parts() {
  const parts = [];
  for (const [name, stream] of Object.entries(opened.streams)) {
    const pre = opened.pres[name];
    const below = pre.scrollHeight - pre.scrollTop - pre.clientHeight < 30;
    if (pre.textContent !== stream.text) pre.textContent = stream.text;
    if (below) pre.scrollTop = pre.scrollHeight;
    pre.hidden = !stream.text;
    const size = stream.problem || (known(stream.size) ? stream.size ? bytes(stream.size) : stream.ended ? "empty" : "nothing yet" : "not known yet");
    parts.push(element("h3", {}, name, element("span", {className: stream.problem ? "problem" : "quiet", textContent: `  ${size}`})), pre);
  }
  return parts;
}

function draw_details() {
  const dialog = $("details"), {one} = opened;
  const close = element("button", {type: "button", textContent: "Close"});
  close.addEventListener("click", () => dialog.close());
  const focused = [...dialog.querySelectorAll("button")].findIndex((b) => b === document.activeElement);
  const top = dialog.scrollTop;
  const parts = [element("div", {className: "bar"}, element("h2", {id: "details-title", textContent: opened.id}), close)];
  if (opened.gone) parts.push(element("p", {className: "quiet", textContent: opened.gone}));
  if (one) parts.push(actions(one), fact_list(one));
  parts.push(...output_parts());
  if (opened.record) parts.push(...record_parts(opened.record));
  if (one?.State === "ended") {
    const none = opened.read ? "None: no jail was used." : opened.gone ? "Not known: the record was removed." : "Not known yet.";
    parts.push(element("h3", {textContent: "Receipt"}),
               one.Receipt ? receipt_facts(one.Receipt) : element("p", {className: "quiet", textContent: none}));
  }
  dialog.replaceChildren(...parts);
  dialog.scrollTop = top;
  if (focused >= 0) dialog.querySelectorAll("button")[focused]?.focus();
}

async function read_stream(id, name, stream) {
  if (stream.ended && stream.next >= stream.size) return;
  try {
    const told = await get(`output.json?id=${id}&stream=${name}&offset=${stream.next}`);
    stream.text = (stream.text + told.text).slice(-MOST_SHOWN);
    Object.assign(stream, {next: told.next, size: told.size, ended: told.ended, problem: ""});
  } catch (error) {
    stream.problem = error.message;
  }
}

// The record of an execution, in the form of one that has just ended.
function as_ended(record) {
  return {...record, State: "ended", AskedUSec: record.StartedUSec, MemoryBytes: record.MemoryPeakBytes, Tasks: record.TasksPeak};
}

// Changed files and calls, of an execution that ended.
function record_parts(record) {
  const files = ["created", "modified", "deleted"].flatMap((kind) => (record.Files?.[kind] ?? []).map((path) => [kind, path]));
  if (record.Files?.omitted) files.push(["more", count(record.Files.omitted)]);
  const calls = (record.Calls ?? []).map((call) => [call.time,
    `${call.action} ${call.subject}${call.count > 1 ? ` (${call.count} times)` : ""} ${call.details ?? ""}`]);
  if (record.MoreCalls) calls.push(["more", "warder audit list"]);
  const part = (title, pairs, none) => [element("h3", {textContent: title}),
    pairs.length ? facts(pairs, title.toLowerCase().replace(" ", "-")) : element("p", {className: "quiet", textContent: none})];
  return [...part("Changed files", files, record.Files ? "None." : "Not known."), ...part("Calls", calls, "None.")];
}

// Reads the changes of the open execution. The daemon holds its record for one minute after its end.
async function look_at_details() {
  const mine = opened;
  if (!mine || mine.looking) return;  // a look at a time, or output would be read twice
  mine.looking = true;
  const read_all = mine.read && mine.one?.State === "ended";
  if (!read_all && !mine.gone) {
    try {
      const {execution, record} = await get(`execution.json?id=${mine.id}`);
      if (execution?.Id === mine.id) mine.one = execution;
      if (record?.Id === mine.id) Object.assign(mine, {record, one: mine.one ?? as_ended(record)});
      mine.read = Boolean(mine.record) || mine.one?.State !== "ended" || mine.looks++ > 5;
    } catch (error) {
      mine.gone = `Its record cannot be read: ${error.message}`;
    }
  }
  await Promise.all(Object.entries(mine.streams).map(([name, stream]) => read_stream(mine.id, name, stream)));
  mine.looking = false;
  if (opened === mine) draw_details();
}

function open_details(id) {
  const stream = () => ({text: "", next: 0});
  const pre = (name) => element("pre", {tabIndex: 0, ariaLabel: name});
  opened = {id, one: state.executions.find((one) => one.Id === id), streams: {stdout: stream(), stderr: stream()},
            pres: {stdout: pre("stdout"), stderr: pre("stderr")}, asks: false, problem: "", looks: 0};
  draw_details();
  if (!$("details").open) $("details").showModal();
  look_at_details();
}

// The event comes later than close(): another execution may have been opened meanwhile.
function close_details() {
  if (!$("details").open) opened = null;
}
