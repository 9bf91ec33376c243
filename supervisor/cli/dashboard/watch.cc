#include "supervisor/cli/dashboard/watch.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

namespace admin {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 5s;  // for each answer
constexpr size_t kMoments = 600;
constexpr size_t kMostRows = 200;  // of each table; more would make the page unreadable

uint64_t now_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

// The numbers for the plots at one moment.
Json moment(const Json& manager, uint64_t when) {
  const Json& answers = member(manager, "AnswerUSec");
  const auto counts = [&](const char* key) {
    const Json& found = member(manager, key);
    return found.is_object() ? found : Json::object();
  };
  return {{"t", when},
          {"running", number(manager, "Running")},
          {"waiting", number(manager, "Waiting")},
          {"waiting_jails", number(manager, "WaitingJails")},
          {"outcomes", counts("Outcomes")},
          {"refusals", counts("Refusals")},
          {"p50", number(answers, "p50")},
          {"p99", number(answers, "p99")},
          {"cpu_usec", number(manager, "CPUUsageUSec")},
          {"memory_bytes", number(manager, "MemoryBytes")}};
}

Json first_of(std::vector<Json> rows) {
  if (rows.size() > kMostRows) rows.resize(kMostRows);
  return rows;
}

}  // namespace

Watch::Watch(Loop& loop, const std::string& bus) : loop_(loop), asking_(loop) {
  const char* asked = std::getenv("WARDER_BUS");
  if (!bus.empty()) {
    buses_ = {bus};
  } else if (asked) {
    buses_ = {asked};
  } else {
    buses_ = {"system", "session"};
  }
}

Result<> Watch::connect() {
  if (line_ && !line_->lost) return {};
  line_ = std::make_shared<Line>();
  auto lost = [weak = std::weak_ptr(line_)](const std::string& why) {
    const auto line = weak.lock();
    if (!line) return;
    line->lost = true;
    if (!line->round || line->round->over.fired()) return;
    line->round->result = fail(Code::unavailable, "the connection to the bus ended: " + why);
    line->round->over.fire();
  };
  TRY(line_->connection, bus::BusConnection::open(loop_, buses_[tried_ % buses_.size()], lost));
  return {};
}

Task<Result<Json>> Watch::call(const char* interface, const char* member, const char* argument) {
  sd_bus_message* made = nullptr;
  int r =
      sd_bus_message_new_method_call(line_->connection->get(), &made, "org.warder.Warder1", kPath, interface, member);
  if (r < 0) co_return fail_errno(-r, fmt::format("call {}", member));
  bus::MessagePtr question(made);
  sd_bus_message_set_auto_start(made, 0);
  if (argument) r = sd_bus_message_append(made, "s", argument);
  if (r < 0) co_return fail_errno(-r, fmt::format("call {}", member));
  CO_TRY(bus::MessagePtr answer, co_await line_->connection->call(std::move(question), kPatience));
  CO_TRY(std::vector<Json> values, read_values(answer.get()));
  if (values.empty()) co_return Json();
  co_return std::move(values.front());
}

Task<Result<>> Watch::ask_all() {
  CO_CHECKED(connect());
  CO_TRY(Json manager, co_await call("org.freedesktop.DBus.Properties", "GetAll", kManager));
  CO_TRY(Json objects, co_await call("org.freedesktop.DBus.ObjectManager", "GetManagedObjects", nullptr));
  manager_ = std::move(manager);
  executions_ = first_of(executions_in(objects));
  tenants_ = first_of(tenants_in(objects));
  co_return Result<>{};
}

Task<> Watch::ask(std::shared_ptr<Round> round) {
  auto asked = co_await ask_all();
  // look() cancels this task when the round is over, so the event fires only after this task has returned.
  loop_.defer([round, asked = std::move(asked)] {
    if (round->over.fired()) return;
    round->result = asked;
    round->over.fire();
  });
}

Task<> Watch::look() {
  auto round = std::make_shared<Round>();
  if (line_) line_->round = round;
  asking_.spawn(ask(round));
  if (line_) line_->round = round;  // ask() may have made a new line_
  co_await round->over;
  asking_.cancel_all();
  problem_.clear();
  if (!round->result) {
    problem_ = "warderd does not answer: " + round->result.error().what;
    manager_ = nullptr;
    executions_ = tenants_ = Json::array();
    line_.reset();
    tried_++;
    co_return;
  }
  history_.push_back(moment(manager_, now_ms()));
  if (history_.size() > kMoments) history_.pop_front();
}

std::string Watch::state(uint64_t since) const {
  Json told = {{"now", now_ms()}, {"executions", executions_}, {"tenants", tenants_}, {"history", Json::array()}};
  if (!problem_.empty()) told["problem"] = problem_;
  if (manager_.is_object()) told["manager"] = manager_;
  for (const Json& one : history_) {
    if (number(one, "t") > since) told["history"].push_back(one);
  }
  return told.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace admin
