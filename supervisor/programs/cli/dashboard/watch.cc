#include "supervisor/programs/cli/dashboard/watch.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

namespace admin {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 5s;           // for each answer
constexpr auto kPersonPatience = 130s;   // for an answer that polkit asks a person about
constexpr size_t kMaxPageRows = 200;     // of each table; more would make the page unreadable
constexpr uint64_t kApprovalsEvery = 2;  // looks; for some users, the daemon asks polkit each time

uint64_t now_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

Json first_of(std::vector<Json> rows) {
  if (rows.size() > kMaxPageRows) rows.resize(kMaxPageRows);
  for (Json& row : rows) row.erase("Receipt");
  return rows;
}

}  // namespace

Watch::Watch(Loop& loop, const std::string& bus) : loop_(loop) {
  const char* requested = std::getenv("WARDER_BUS");
  if (!bus.empty()) {
    buses_ = {bus};
  } else if (requested) {
    buses_ = {requested};
  } else {
    buses_ = {"system", "session"};
  }
}

Watch::~Watch() {
  if (line_) line_->end("the dashboard ends");
}

void Watch::Line::end(const std::string& why) {
  lost = true;
  for (const RoundPtr& round : std::exchange(rounds, {})) {
    if (round->over.fired()) continue;
    round->result = fail(Code::unavailable, why);
    round->over.fire();
    round->task.cancel_all();  // also if no task waits any more: the task owns the round
  }
}

Result<> Watch::connect() {
  if (line_ && !line_->lost) return {};
  line_ = std::make_shared<Line>();
  auto lost = [weak = std::weak_ptr(line_)](const std::string& why) {
    if (const auto line = weak.lock()) line->end("the connection to the bus ended: " + why);
  };
  TRY(line_->connection, bus::BusConnection::open(loop_, buses_[tried_ % buses_.size()], lost));
  return {};
}

Task<Result<Json>> Watch::call(BusQuestion question) {
  sd_bus_message* created = nullptr;
  int r = sd_bus_message_new_method_call(line_->connection->get(), &created, "org.warder.Warder1",
                                         question.path.c_str(), question.interface.c_str(), question.member.c_str());
  if (r < 0) co_return fail_errno(-r, fmt::format("call {}", question.member));
  bus::MessagePtr message(created);
  sd_bus_message_set_auto_start(created, 0);
  const bool person = question.authenticates == Authenticates::yes;
  sd_bus_message_set_allow_interactive_authorization(created, person ? 1 : 0);
  r = append_arguments(created, question.arguments);
  if (r < 0) co_return fail_errno(-r, fmt::format("call {}", question.member));
  const std::chrono::seconds patience = person ? kPersonPatience : kPatience;
  CO_TRY(bus::MessagePtr answer, co_await line_->connection->call(std::move(message), patience));
  CO_TRY(std::vector<Json> values, read_values(answer.get()));
  if (values.empty()) co_return Json();
  if (values.size() == 1) co_return std::move(values.front());
  co_return Json(std::move(values));
}

Task<> Watch::finish(RoundPtr round, Task<Result<Json>> work) {
  auto done = co_await std::move(work);
  // The waiting task destroys this one when the round is over, so the event fires only after this task has returned.
  loop_.defer([round, done = std::move(done)] {
    if (round->over.fired()) return;
    round->result = done;
    round->over.fire();
  });
}

Task<Result<Json>> Watch::run(std::shared_ptr<Line> line, Task<Result<Json>> work) {
  auto round = std::make_shared<Round>(loop_);
  line->rounds.push_back(round);
  round->task.spawn(finish(round, std::move(work)));
  co_await round->over;
  round->task.cancel_all();
  std::erase(line->rounds, round);
  co_return round->result;
}

Task<Result<Json>> Watch::ask(BusQuestion question) {
  if (!line_ || line_->lost) co_return fail(Code::unavailable, "warderd cannot be reached", "see the top of the page");
  Task<Result<Json>> work = call(std::move(question));
  auto answer = co_await run(line_, std::move(work));
  co_return answer;
}

Task<Result<Json>> Watch::ask_all() {
  BusQuestion question;
  question.interface = "org.freedesktop.DBus.Properties";
  question.member = "GetAll";
  question.arguments = {"s", {kManager}};
  CO_TRY(Json manager, co_await call(question));
  question.interface = "org.freedesktop.DBus.ObjectManager";
  question.member = "GetManagedObjects";
  question.arguments = {};
  CO_TRY(Json objects, co_await call(question));
  if (looks_++ % kApprovalsEvery == 0) {
    question.interface = kManager;
    question.member = "ListApprovals";
    auto approvals = co_await call(question);
    approvals_problem_ = approvals ? "" : approvals.error().what;
    approvals_ = approvals && approvals->is_array() ? std::move(*approvals) : Json();
    question.member = "ListServers";
    auto servers = co_await call(question);
    servers_problem_ = servers ? "" : servers.error().what;
    servers_ = servers && servers->is_array() ? std::move(*servers) : Json();
  }
  manager_ = std::move(manager);
  executions_ = first_of(executions_in(objects));
  tenants_ = first_of(tenants_in(objects));
  co_return Json();
}

Task<> Watch::inspect() {
  auto connected = connect();
  Result<Json> checked;
  if (connected) {
    Task<Result<Json>> work = ask_all();
    checked = co_await run(line_, std::move(work));
  } else {
    checked = tl::unexpected<Error>(std::move(connected).error());
  }
  problem_.clear();
  if (checked) co_return;
  problem_ = "warderd does not answer: " + checked.error().what;
  manager_ = approvals_ = servers_ = nullptr;
  approvals_problem_.clear();
  servers_problem_.clear();
  executions_ = tenants_ = Json::array();
  if (const auto line = std::exchange(line_, nullptr)) line->end("warderd does not answer");
  tried_++;
  looks_ = 0;
}

Json Watch::state() const {
  Json report = {{"now", now_ms()}, {"executions", executions_}, {"tenants", tenants_}};
  if (!problem_.empty()) report["problem"] = problem_;
  if (!approvals_problem_.empty()) report["approvals_problem"] = approvals_problem_;
  if (manager_.is_object()) report["manager"] = manager_;
  if (approvals_.is_array()) report["approvals"] = approvals_;
  if (!servers_problem_.empty()) report["servers_problem"] = servers_problem_;
  if (servers_.is_array()) report["servers"] = servers_;
  return report;
}

}  // namespace admin
