// Reload of policies and catalog, for SIGHUP and D-Bus. Either all policies are replaced or none. Policies under which
// the self-test of jails fails are not used.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "supervisor/base/log.h"
#include "supervisor/daemon/daemon.h"
#include "supervisor/daemon/message_ids.h"

Task<> Daemon::reload_on_signal() { (void)co_await reload(); }  // reload_once() has logged the error

// One reload runs at a time. It runs to its end even if its caller is cancelled. A reload that is asked for meanwhile
// runs afterwards.
Task<Result<>> Daemon::reload() {
  auto asked = std::make_shared<Reload>();
  reloads_asked_.push_back(asked);
  if (!std::exchange(reloading_, true)) tasks_.spawn(reload_until_nobody_asks());
  co_await asked->done;
  co_return asked->result;
}

Task<> Daemon::reload_until_nobody_asks() {
  co_await serving_;
  while (!reloads_asked_.empty()) {
    auto answered = std::exchange(reloads_asked_, {});
    const Result<> result = co_await reload_once();
    for (const auto& one : answered) {
      one->result = result;
      one->done.fire();
    }
  }
  reloading_ = false;
}

Task<Result<>> Daemon::reload_once() {
  service_.reloading();
  co_await parts_->reload_catalog();
  Result<> adopted = co_await adopt_policies();
  if (adopted) {
    parts_->adopt_policies();
    log_notice("policies reloaded: {}", fmt::join(prepared_.policies.names(), ", "));
  } else {
    log_problem(kReloadFailedId, "the reload failed, the former policies stay in force", adopted.error());
  }
  service_.ready(jails_->host().unfit ? "serving, but no executions: the self-test of jails fails, see the log"
                 : adopted            ? "serving"
                                      : "serving; the last reload failed, see the log");
  parts_->show_reload(adopted ? std::string() : adopted.error().what);
  co_return adopted;
}

// Policies under which the self-test of jails fails are not used. If the self-test fails under the old policies, too,
// the host has changed. Then executions are refused until a reload passes the self-test; other requests are served.
Task<Result<>> Daemon::adopt_policies() {
  jail::Host& host = jails_->host();
  CO_TRY(policies::Store fresh, co_await parts_->read_policies());
  const auto policy = fresh.standard();
  Result<> tested = co_await jails_->test(*policy);
  if (tested) {
    host.unfit.reset();
    prepared_.policies = std::move(fresh);
    co_return tested;
  }
  const auto old_policy = prepared_.policies.standard();
  const Result<> before = co_await jails_->test(*old_policy);
  if (before) {
    host.unfit.reset();
    co_return tl::unexpected<Error>(
        std::move(tested).error().within("the self-test of jails fails under the new policies"));
  }
  const Error& why = before.error();
  host.unfit = Error{Code::denied,
                     0,
                     "executions are denied, because the self-test of jails fails on this machine: " + why.what,
                     "ask the administrator to correct the cause, and then to run `systemctl reload warder`",
                     {}};
  parts_->end_executions("the self-test of jails fails on this machine");
  log_problem(kSelfTestFailedId, "executions are denied until a reload passes the self-test of jails", why);
  co_return tl::unexpected<Error>(
      Error(why).within("the self-test of jails fails on this machine, also under the old policies"));
}
