// The tables: tenants, upstream servers, the warm pool, executions, and calls that wait for an approval.
"use strict";

let state = null;       // the newest state.json
const cpu_before = new Map();  // by execution id: {t, cpu} of the last two states
const MEASURED_AFTER_USEC = 200_000;  // a program that ran this long has used CPU time; 0 means that it is not known

// "ada" for "uid-1000", with the tenant's own name as the title.
function tenant_name(tenant) {
  const name = state.names?.[tenant];
  return element("span", {title: tenant, textContent: name ?? tenant}, name ? element("small", {textContent: ` ${tenant}`}) : "");
}

const cpu_usec = (one) => one.CPUUSec > 0 || one.State === "ended" && one.WallUSec > 0 ? one.CPUUSec :
  one.WallUSec > MEASURED_AFTER_USEC ? null : one.CPUUSec;

// Processors that the execution used between the last two states; null: not known.
function cpu_share(one) {
  const found = cpu_before.get(one.Id);
  if (one.State === "ended" || !found || !known(cpu_usec(one)) || found.t === found.before_t) return null;
  return Math.max(0, (found.cpu - found.before) / ((found.t - found.before_t) * 1000));
}

function note_cpu() {
  const ids = new Set(state.executions.map((one) => one.Id));
  for (const id of [...cpu_before.keys()]) if (!ids.has(id)) cpu_before.delete(id);
  for (const one of state.executions) {
    const last = cpu_before.get(one.Id) ?? {t: state.now, cpu: one.CPUUSec};
    if (state.now > last.t || !cpu_before.has(one.Id))
      cpu_before.set(one.Id, {t: state.now, cpu: one.CPUUSec, before_t: last.t, before: last.cpu});
  }
}

function show_tenants() {
  fill("tenants", state.tenants.map((one) => {
    const held = element("span", {}, element("meter", {max: one.QuotaBytes || 1, value: one.WorkspaceBytes}),
                         ` ${bytes(one.WorkspaceBytes)} of ${bytes(one.QuotaBytes)}`);
    const name = element("button", {className: "link", type: "button", title: "Show only its executions"}, tenant_name(one.Name));
    name.addEventListener("click", () => {
      $("filter").value = $("filter").value === one.Name ? "" : one.Name;
      show_executions();
    });
    const failed = one.Executions - (one.Outcomes?.ok ?? 0);
    const most = one.MostRunning ? ` of ${count(one.MostRunning)}` : "";
    return row({}, ["", name], ["", one.Policy || UNKNOWN], ["n", count(one.Connections)], ["n", count(one.Running) + most],
               ["n", count(one.Waiting)], ["n", count(one.Executions)], [failed ? "n bad" : "n", count(failed)],
               ["n", duration(one.CPUUsageUSec)], ["", held]);
  }), "No tenant that you may see has connected since the daemon started.");
}

function show_servers() {
  const empty = state.servers ? "No upstream server is configured: warder servers add." :
    state.servers_problem ? `Not shown: ${state.servers_problem}` : "Not known yet.";
  fill("servers", (state.servers ?? []).map((one) =>
    row({}, ["", one.Name], ["", one.Place], [one.State === "failed" ? "bad" : "", one.State],
        ["n", element("span", {title: one.Tools.join(", "), textContent: count(one.Tools.length)})],
        ["n", count(one.Connections)], [one.Problem ? "bad" : "", one.Problem])), empty);
}

function show_pool() {
  const {Pool: pool, Languages: languages} = state.manager;
  const names = [...new Set([...Object.keys(pool ?? {}), ...Object.keys(languages ?? {})])].sort();
  fill("pool", names.map((name) => {
    const jails = pool[name] ?? {}, of = languages[name] ?? {};
    return row({}, ["", name], ["n", count(jails.waiting)], ["n", count(jails.wanted)], ["n", count(jails.zygotes)],
               ["n", bytes(jails.bytes)], ["n", count(of.executions)], ["n", duration(of.p50)], ["n", duration(of.p99)]);
  }), "There are no idle jails, and no program has run yet.");
}

function fits(one, filter) {
  const words = [one.Id, one.Tenant, state.names?.[one.Tenant] ?? "", one.Language, one.State, one.Outcome].map((w) => w.toLowerCase());
  return filter.toLowerCase().split(/\s+/).filter(Boolean).every((part) => words.some((word) => word.includes(part)));
}

function show_executions() {
  const filter = $("filter").value.trim();
  const shown = state.executions.filter((one) => fits(one, filter));
  const empty = state.executions.length ? "No execution fits the filter." : "No executions that you may see, now or in the last minute.";
  const focused = document.activeElement?.dataset?.id;
  fill("executions", shown.map((one) => {
    const ended = one.State === "ended";
    const id = element("button", {className: "link", type: "button", textContent: one.Id});
    id.dataset.id = one.Id;
    const made = row({}, ["id", id], ["", tenant_name(one.Tenant)], ["", one.Language || UNKNOWN],
                     [ended && one.Outcome !== "ok" ? "bad" : "", ended ? one.Outcome : one.State],
                     ["n", age(state.now * 1000 - one.AskedUSec)], ["n", duration(one.WallUSec)], ["n", duration(cpu_usec(one))],
                     ["n", ended ? "" : percent(cpu_share(one))], ["n", bytes(one.MemoryBytes || null)],
                     ["n", ended ? "" : count(one.Tasks || null)]);
    made.addEventListener("click", () => open_details(one.Id));
    return made;
  }), empty);
  if (focused) $("executions").querySelector(`button[data-id="${CSS.escape(focused)}"]`)?.focus();
}

function approval_card(one) {
  const problem = element("p", {className: "problem"});
  const reason = element("input", {placeholder: "reason for a refusal, may be empty", maxLength: 200});
  reason.setAttribute("aria-label", "Reason for a refusal");
  const decide = (action) => async () => {
    for (const button of buttons) button.disabled = true;
    problem.textContent = "";
    problem.textContent = await act(action, one.Id, reason.value);
    for (const button of buttons) button.disabled = false;
    if (!problem.textContent) card.replaceChildren(element("p", {textContent: action === "approve" ? "Approved." : "Denied."}));
  };
  const approve = element("button", {type: "button", textContent: "Approve"});
  const deny = element("button", {type: "button", className: "bad", textContent: "Deny"});
  const buttons = [approve, deny];
  approve.addEventListener("click", decide("approve"));
  deny.addEventListener("click", decide("deny"));
  const what = element("p", {}, element("b", {textContent: one.Tool}), " for ", tenant_name(one.Tenant));
  if (one.Execution) {
    const open = element("button", {className: "link", type: "button", textContent: one.Execution});
    open.addEventListener("click", () => open_details(one.Execution));
    what.append(", in execution ", open);
  }
  const why = element("p", {className: "quiet", textContent: `Rule ${one.Rule}${one.Why ? `: ${one.Why}` : ""}. `},
                      element("span", {className: "left"}));
  const card = element("div", {className: "approval"}, what, why, element("pre", {textContent: one.Arguments}));
  card.append(state.user.may_act ? element("div", {className: "actions"}, approve, deny, reason, problem)
                                 : element("p", {className: "quiet", textContent: "This page was started with --read-only."}));
  card.dataset.id = one.Id;
  return card;
}

// Cards stay as they are while their call waits, so that a reason that is being typed is not lost.
function show_approvals() {
  const none = $("no-approvals"), calls = state.approvals;
  none.hidden = Boolean(calls?.length);
  none.textContent = calls ? "No call waits for an approval." :
    state.approvals_problem ? `Not shown: ${state.approvals_problem}` : "Not known yet.";
  const there = new Map([...$("approvals").children].map((card) => [card.dataset.id, card]));
  const cards = (calls ?? []).map((one) => there.get(one.Id) ?? approval_card(one));
  for (const card of there.values()) if (!cards.includes(card)) card.remove();
  for (const card of cards) if (!card.isConnected) $("approvals").append(card);
  (calls ?? []).forEach((one, i) => {
    const left = cards[i].querySelector(".left");
    if (left) left.textContent = `It is refused in ${age(one.ExpiresUSec - state.now * 1000)} without a decision.`;
  });
}
