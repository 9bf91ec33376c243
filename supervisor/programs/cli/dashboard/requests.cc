#include "supervisor/programs/cli/dashboard/requests.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>

#include "supervisor/base/ascii.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/system_time.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

constexpr uint64_t kMaxRange = 86'400;  // seconds: the daemon's timeline has a day
constexpr uint32_t kOutputPiece = 64 << 10;
constexpr uint64_t kUnknown = std::numeric_limits<uint64_t>::max();  // on D-Bus

DashboardAnswer good_answer(Json json) { return {"200 OK", std::move(json)}; }

DashboardAnswer bad_answer(const std::string& status, const std::string& why) { return {status, {{"error", why}}}; }

DashboardAnswer bad_answer(const Error& error) {
  return bad_answer(error.code == Code::denied ? "403 Forbidden" : "502 Bad Gateway", error.what);
}

// The value of a parameter in "a=1&b=2"; empty: absent. Values need no decoding: they are numbers and ids.
std::string_view parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view item = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (item.size() > name.size() && item.starts_with(name) && item[name.size()] == '=')
      return item.substr(name.size() + 1);
  }
  return {};
}

std::optional<uint64_t> number_parameter(std::string_view query, std::string_view name, uint64_t max) {
  const std::string_view text = parameter(query, name);
  uint64_t value = 0;
  const auto [parsed, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || wrong != std::errc() || parsed != text.data() + text.size() || value > max) return std::nullopt;
  return value;
}

// An id is a part of an object's path, so it has only the characters of ids.
bool is_id(std::string_view id) {
  return !id.empty() && id.size() <= 64 && std::all_of(id.begin(), id.end(), is_lower_or_digit);
}

// Replaces each unknown value by null. `value` has the depth of a D-Bus message.
void make_unknown_null(Json& value) {
  if (value.is_structured()) {
    for (Json& inner : value) make_unknown_null(inner);
  } else if (value.is_number_unsigned() && value.get<uint64_t>() == kUnknown) {
    value = nullptr;
  }
}

// The call for an action. Absent: the action does not exist.
std::optional<Watch::BusQuestion> question_for(const std::string& action, const std::string& id,
                                               const std::string& reason) {
  Watch::BusQuestion question;
  question.authenticates = Watch::Authenticates::yes;
  if (action == "kill") {
    question.member = "KillExecution";
    question.arguments = {"s", {id}};
  } else if (action == "freeze" || action == "thaw") {
    question.path = execution_path(id);
    question.interface = kExecution;
    question.member = action == "freeze" ? "Freeze" : "Thaw";
  } else if (action == "approve") {
    question.member = "Approve";
    question.arguments = {"s", {id}};
  } else if (action == "deny") {
    question.member = "Deny";
    question.arguments = {"ss", {id, reason}};
  } else {
    return std::nullopt;
  }
  return question;
}

}  // namespace

Json DashboardRequests::state() {
  Json report = watch_.state();
  for (const char* list : {"executions", "tenants"}) make_unknown_null(report[list]);
  Json names = Json::object();
  auto name = [&](const std::string& tenant) {
    if (const std::string user = names_.of_tenant(tenant); !user.empty()) names[tenant] = user;
  };
  for (const Json& tenant : report["tenants"]) name(text(tenant, "Name"));
  for (const Json& execution : report["executions"]) name(text(execution, "Tenant"));
  report["names"] = std::move(names);
  report["user"] = {
      {"uid", user_.uid}, {"name", names_.of_uid(user_.uid)}, {"may_act", user_.may_act}, {"tunnel", user_.tunnel}};
  return report;
}

Task<DashboardAnswer> DashboardRequests::timeline(std::string query) {
  const auto seconds = number_parameter(query, "seconds", kMaxRange);
  const auto step = number_parameter(query, "step", kMaxRange);
  if (!seconds || !step || *step == 0)
    co_return bad_answer("400 Bad Request", "seconds or step: not a number up to 86400");
  const uint64_t step_usec = *step * 1'000'000;
  const uint64_t from = system_now_usec() / step_usec * step_usec - *seconds * 1'000'000;
  Watch::BusQuestion question;
  question.member = "ReadTimeline";
  question.arguments = {"ttu", {from, uint64_t{0}, static_cast<uint32_t>(*step)}};
  auto answer = co_await watch_.ask(question);
  if (!answer) co_return bad_answer(answer.error());
  make_unknown_null(*answer);
  co_return good_answer({{"columns", element(*answer, 0)},
                         {"rows", element(*answer, 1)},
                         {"answers", element(*answer, 2)},
                         {"from", from / 1000},
                         {"now", system_now_usec() / 1000}});
}

Task<DashboardAnswer> DashboardRequests::execution(std::string query) {
  const std::string id(parameter(query, "id"));
  if (!is_id(id)) co_return bad_answer("400 Bad Request", "id: not the id of an execution");
  Watch::BusQuestion question;
  question.path = execution_path(id);
  question.interface = "org.freedesktop.DBus.Properties";
  question.member = "GetAll";
  question.arguments = {"s", {kExecution}};
  auto living = co_await watch_.ask(question);
  if (living && text(*living, "State") != "ended") {
    make_unknown_null(*living);
    co_return good_answer({{"execution", *living}});
  }
  question = {};
  question.member = "GetRecord";
  question.arguments = {"s", {id}};
  auto stored = co_await watch_.ask(question);
  if (!living && !stored) co_return bad_answer(living.error());
  Json report = Json::object();
  if (living) make_unknown_null(report["execution"] = std::move(*living));
  if (stored) make_unknown_null(report["record"] = std::move(*stored));
  co_return good_answer(std::move(report));
}

Task<DashboardAnswer> DashboardRequests::output(std::string query) {
  const std::string id(parameter(query, "id")), stream(parameter(query, "stream"));
  const auto offset = number_parameter(query, "offset", std::numeric_limits<int64_t>::max());
  if (!is_id(id) || (stream != "stdout" && stream != "stderr") || !offset)
    co_return bad_answer("400 Bad Request", "give id, stream (stdout or stderr) and offset");
  Watch::BusQuestion question;
  question.member = "ReadOutput";
  question.arguments = {"sstu", {id, stream, *offset, kOutputPiece}};
  auto answer = co_await watch_.ask(question);
  if (!answer) co_return bad_answer(answer.error());
  const std::string bytes = text(element(*answer, 0));
  const uint64_t size = number(element(*answer, 1));
  const bool ended = element(*answer, 2) == true;
  const bool last = ended && *offset + bytes.size() >= size;
  const size_t used = last ? bytes.size() : whole_utf8_prefix(bytes);
  co_return good_answer({{"text", cli::for_terminal(std::string_view(bytes).substr(0, used))},
                         {"next", *offset + used},
                         {"size", size},
                         {"ended", ended}});
}

Task<DashboardAnswer> DashboardRequests::read(std::string path, std::string query) {
  if (path == "state.json") co_return good_answer(state());
  DashboardAnswer answer;
  if (path == "timeline.json") answer = co_await timeline(std::move(query));
  if (path == "execution.json") answer = co_await execution(std::move(query));
  if (path == "output.json") answer = co_await output(std::move(query));
  co_return answer;
}

Task<DashboardAnswer> DashboardRequests::act(std::string body) {
  if (!user_.may_act) co_return bad_answer("403 Forbidden", "this dashboard was started with --read-only");
  const auto parsed = parse_json(body, 2);
  if (!parsed) co_return bad_answer("400 Bad Request", parsed.error().what);
  const std::string id = text(*parsed, "id");
  if (!is_id(id)) co_return bad_answer("400 Bad Request", "id: not the id of an execution or an approval");
  const std::string reason = text(*parsed, "reason");
  if (reason.find('\0') != reason.npos) co_return bad_answer("400 Bad Request", "reason: has a NUL byte");
  auto question = question_for(text(*parsed, "action"), id, reason);
  if (!question) co_return bad_answer("400 Bad Request", "action: give kill, freeze, thaw, approve or deny");
  auto done = co_await watch_.ask(*question);
  if (!done) co_return bad_answer(done.error());
  co_return good_answer({{"done", true}});
}

}  // namespace admin
