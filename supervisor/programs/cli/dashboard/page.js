// Asks `warder dashboard` for the state once a second, and for the history as often as it changes.
"use strict";

let timeline_at = 0;  // when the history was asked for, in ms

function number(label, value, title = "") {
  return element("div", {title}, element("b", {textContent: value}), element("span", {textContent: label}));
}

function show_numbers() {
  const {manager} = state, answers = timeline?.answers ?? {}, shown = range[0];
  const context = manager.Ledger?.kept_out_tokens_estimated;
  $("numbers").replaceChildren(
    number("running", count(manager.Running)),
    number("waiting", count(manager.Waiting), "Executions that wait for a place"),
    number("frozen", count(manager.Frozen)),
    number("idle jails", count(manager.WaitingJails), "Finished jails that wait for an execution"),
    number(`answers in ${shown}`, count(answers.of)),
    number(`p50 in ${shown}`, duration(answers.p50), "Time from a call to its answer"),
    number(`p99 in ${shown}`, duration(answers.p99), "Time from a call to its answer"),
    number("tokens saved (about)", count(context), "Tokens that stayed out of the agents' contexts since the daemon started"));
}

function show(told) {
  state = {executions: [], tenants: [], names: {}, user: {}, ...told};
  $("problem").hidden = !state.problem;
  $("problem").textContent = state.problem ?? "";
  const {user, manager} = state;
  $("user").textContent = `acts as ${user.name || `user ${user.uid}`}${user.may_act ? "" : ", reads only"}`;
  $("tunnel").textContent = user.tunnel || UNKNOWN;
  if (!manager) return;  // the tables keep what was last known
  const up = duration(state.now * 1000 - manager.StartedUSec);
  $("daemon").textContent = [`warderd ${manager.Version}`, manager.State, `up ${up}`, manager.ReloadProblem && "last reload failed",
                             manager.DiskProblem && "the disk takes no writes"].filter(Boolean).join(", ");
  $("daemon").title = [manager.ReloadProblem, manager.DiskProblem].filter(Boolean).join("\n");
  note_cpu();
  show_numbers();
  show_approvals();
  show_tenants();
  show_servers();
  show_pool();
  show_executions();
}

async function look_at_timeline() {
  const pause = range[2] > 10 ? 10_000 : 2_000, asked = range;
  if (Date.now() - timeline_at < pause) return;
  timeline_at = Date.now();
  const told = await get(`timeline.json?seconds=${asked[1]}&step=${asked[2]}`).catch(() => null);
  if (told && asked === range) take_timeline(told);
}

async function look() {
  try {
    const told = await get("state.json");
    await look_at_timeline();
    show(told);
    await look_at_details();
  } catch (error) {
    $("problem").hidden = false;
    $("problem").textContent = `warder dashboard cannot be reached: ${error.message}`;
  }
  setTimeout(look, 1000);
}

make_plots(async () => {
  timeline_at = 0;
  await look_at_timeline();
  if (state?.manager) show_numbers();
});
$("filter").addEventListener("input", () => state && show_executions());
$("details").addEventListener("close", close_details);
$("details").addEventListener("click", (event) => { if (event.target === $("details")) $("details").close(); });
look();
