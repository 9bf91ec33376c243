#include "supervisor/bus/service.h"

#include <algorithm>

#include "supervisor/base/log.h"

namespace bus {
namespace {

using namespace std::chrono_literals;

constexpr auto kRetryFirst = 1s, kRetryMost = 30s;
constexpr auto kSteady = 10s;  // a connection that lived so long was a good one

}  // namespace

Service::Service(Served served, std::string where)
    : served_(std::move(served)), where_(std::move(where)), tasks_(served_.loop) {
  served_.live.told = [this](const tools::LivePtr& execution, tools::Live::What what) {
    if (publication_) publication_->note(execution, what);
  };
  served_.live.limit_reached = [this](const tools::LiveExecution& execution, const std::string& limit) {
    if (publication_) publication_->limit_reached(execution, limit);
  };
  tasks_.spawn(stay_connected());
}

Service::~Service() {
  served_.live.told = nullptr;
  served_.live.limit_reached = nullptr;
  tasks_.cancel_all();
}

void Service::reloaded(const std::string& problem) {
  reload_problem_ = problem;
  if (publication_) publication_->reloaded(problem);
}

void Service::approval(const tools::Approval& approval, tools::Approvals::What what, std::string_view how) {
  if (publication_) publication_->approval(approval, what, how);
}

Task<> Service::stay_connected() {
  auto pause = std::chrono::milliseconds(kRetryFirst);
  for (;;) {
    const auto began = Monotonic::now();
    auto lost = std::make_shared<Lost>();  // goes with this frame: what is heard later concerns nobody
    auto served = serve(lost);
    if (served) {
      co_await lost->event;
    } else {
      lost->why = served.error().what;
    }
    publication_.reset();
    connection_.reset();
    if (Monotonic::now() - began > kSteady) pause = kRetryFirst;
    log_warning("D-Bus: not on the bus '{}': {}; trying again in {} s", where_, lost->why, pause.count() / 1000);
    co_await sleep_for(served_.loop, pause);
    pause = std::min<std::chrono::milliseconds>(pause * 2, kRetryMost);
  }
}

Result<> Service::serve(const std::shared_ptr<Lost>& lost) {
  auto lose = [weak = std::weak_ptr(lost)](std::string why) {
    const auto now = weak.lock();
    if (!now || now->event.fired()) return;
    now->why = std::move(why);
    now->event.fire();
  };
  TRY(connection_, Connection::open(served_.loop, where_, lose));
  Authority::Rules rules;
  rules.own_uid = served_.own_uid;
  rules.polkit = where_ == "system";
  rules.tenant_of = [this](const policies::Peer& peer) {
    auto assignment = served_.policies.tenant_of(peer);
    return assignment ? assignment->tenant : std::string();
  };
  // Heard within a call of sd-bus, which must not lose its bus there.
  auto lose_later = [this, lose](std::string why) { served_.loop.defer([lose, why = std::move(why)] { lose(why); }); };
  publication_ = std::make_unique<Publication>(served_, *connection_, std::move(rules), lose_later);
  return publication_->begin(reload_problem_);
}

}  // namespace bus
