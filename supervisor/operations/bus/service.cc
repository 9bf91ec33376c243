#include "supervisor/operations/bus/service.h"

#include <algorithm>

#include "policies/store.h"
#include "supervisor/base/log.h"

namespace bus {
namespace {

using namespace std::chrono_literals;

constexpr auto kRetryFirst = 1s, kMaxRetryDelay = 30s;
constexpr auto kSteady = 10s;  // a connection that lasted this long resets the pause

}  // namespace

Service::Service(DaemonServices services, std::string where)
    : services_(std::move(services)), where_(std::move(where)), tasks_(services_.loop) {
  executions_ = services_.executions.observe({
      .changed =
          [this](const executions::ExecutionRecordPtr& execution,
                 executions::ExecutionRegistry::RegistryEvent subject) {
            if (objects_) objects_->note(execution, subject);
          },
      .limit_reached =
          [this](const executions::ExecutionRecord& execution, const std::string& limit) {
            if (objects_) objects_->limit_reached(execution, limit);
          },
  });
  approvals_ = services_.approvals.observe({
      .changed =
          [this](const calls::Approval& approval, calls::Approvals::RequestChange subject, std::string_view how) {
            if (objects_) objects_->approval(approval, subject, how);
          },
      .can_decide = [this] { return objects_ != nullptr; },
  });
}

void Service::reloaded(const std::string& problem) {
  reload_problem_ = problem;
  if (objects_) objects_->reloaded(problem);
}

Task<> Service::stay_connected() {
  auto pause = std::chrono::milliseconds(kRetryFirst);
  for (;;) {
    const auto started = Monotonic::now();
    auto lost = std::make_shared<Lost>();  // destroyed after this pass: later calls of `lose` then have no effect
    auto served = serve(lost);
    if (served) {
      co_await lost->event;
    } else {
      lost->why = served.error().what;
    }
    objects_.reset();
    connection_.reset();
    if (Monotonic::now() - started > kSteady) pause = kRetryFirst;
    log_warning("D-Bus: not on the bus '{}': {}; trying again in {} s", where_, lost->why, pause.count() / 1000);
    co_await sleep_for(services_.loop, pause);
    pause = std::min<std::chrono::milliseconds>(pause * 2, kMaxRetryDelay);
  }
}

Result<> Service::serve(const std::shared_ptr<Lost>& lost) {
  auto lose = [weak = std::weak_ptr(lost)](std::string why) {
    const auto now = weak.lock();
    if (!now || now->event.fired()) return;
    now->why = std::move(why);
    now->event.fire();
  };
  TRY(connection_, BusConnection::open(services_.loop, where_, lose));
  Authority::Rules rules;
  rules.own_uid = services_.own_uid;
  rules.polkit = where_ == "system";
  rules.tenant_of = [this](const policies::Peer& peer) {
    auto assignment = services_.policies.tenant_of(peer);
    return assignment ? assignment->tenant : std::string();
  };
  // Called inside a call of sd-bus, which must not destroy its bus there.
  auto lose_later = [this, lose](std::string why) {
    services_.loop.defer([lose, why = std::move(why)] { lose(why); });
  };
  objects_ = std::make_unique<BusObjects>(services_, *connection_, std::move(rules), lose_later);
  return objects_->begin(reload_problem_);
}

}  // namespace bus
