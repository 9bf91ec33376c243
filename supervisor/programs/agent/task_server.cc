#include "supervisor/programs/agent/task_server.h"

#include <fmt/format.h>

#include "supervisor/base/clock.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/log.h"
#include "supervisor/base/random.h"
#include "supervisor/protocol/http/web_origin.h"

namespace agent {
namespace {

constexpr size_t kMaxTaskText = 1 << 20;
constexpr size_t kMaxUserName = 128;
constexpr size_t kMaxKept = 64;          // background tasks whose end is known
constexpr size_t kFreeConnections = 32;  // beside those that wait for a task
constexpr char kTasks[] = "/task";

// The time of the comparison does not depend on the place of the first difference.
bool is_same_secret(std::string_view text, std::string_view expected) {
  if (text.size() != expected.size()) return false;
  unsigned char differences = 0;
  for (size_t i = 0; i < text.size(); i++)
    differences = static_cast<unsigned char>(differences | (text[i] ^ expected[i]));
  return differences == 0;
}

bool is_json(const http::IncomingRequest& head) {
  const std::string* type = head.field("content-type");
  return type && std::string_view(*type).substr(0, type->find_first_of("; ")) == "application/json";
}

// A run that has begun is an answer, however it ended. Otherwise the daemon has refused it, or does not answer.
int status_of(const AgentOutcome& outcome) {
  if (outcome.is_started) return 200;
  return outcome.end == RunEnd::failed ? 403 : 503;
}

struct TaskOrder {
  std::string user, text;
  bool is_background = false;
};

Result<TaskOrder> read_order(const std::string& body) {
  auto parsed = parse_json(body);
  if (!parsed) return tl::unexpected(std::move(parsed).error().within("the body"));
  Fields in(*parsed, "");
  TaskOrder order;
  TRY(order.user, in.string("userId", kMaxUserName));
  TRY(order.text, in.string("task", kMaxTaskText));
  TRY(order.is_background, in.boolean_or("background", false));
  CHECKED(in.done());
  if (order.user.empty()) return fail(Code::invalid, "userId: is empty");
  if (order.text.find_first_not_of(" \t\r\n") == std::string::npos) return fail(Code::invalid, "task: is empty");
  return order;
}

}  // namespace

TaskServer::TaskServer(Loop& loop, http::HttpClient& client, const AgentSettings& settings,
                       const cli::SocketPath& daemon, std::string address, std::string token, ProgressReporter progress)
    : loop_(loop),
      client_(client),
      settings_(settings),
      daemon_(daemon),
      address_(std::move(address)),
      token_(std::move(token)),
      report_(std::move(progress)),
      runs_(loop) {}

Result<> TaskServer::open(Fd socket) {
  TRY(server_, JsonServer::open(loop_, std::move(socket), *this, settings_.tasks + kFreeConnections));
  return {};
}

Task<> TaskServer::finish() {
  server_->stop();
  Event idle;
  idle_ = &idle;
  const auto ending = running_;
  for (const auto& [id, task] : ending) task->run->cancel("the server of tasks has ended");
  if (!running_.empty()) co_await idle;
  idle_ = nullptr;
  co_await next_turn(loop_);
}

bool TaskServer::has_token(const http::IncomingRequest& head) const {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string* text = head.field("authorization");
  return text && text->starts_with(kScheme) && is_same_secret(std::string_view(*text).substr(kScheme.size()), token_);
}

std::optional<JsonReply> TaskServer::check(const http::IncomingRequest& head) {
  const std::string* host = head.field("host");
  if (!host || !http::is_own_host(*host, address_, {}))
    return json_refusal(403, "the Host field does not name this server");
  const std::string* origin = head.field("origin");
  if (head.count("origin") > 0 && (!origin || !http::is_own_origin(*origin, *host, address_, {})))
    return json_refusal(403, "pages of this Origin may not use this server");
  const std::string_view path = head.path();
  const bool is_post = path == kTasks;
  if (!is_post && path != "/health" && !path.starts_with("/task/"))
    return json_refusal(404, "the paths are POST /task, GET /task/ID and GET /health");
  if (!token_.empty() && path != "/health" && !has_token(head))
    return json_refusal(401, "a token is needed: Authorization: Bearer TOKEN", "WWW-Authenticate: Bearer\r\n");
  if (head.method != (is_post ? "POST" : "GET"))
    return json_refusal(405, is_post ? "use POST" : "use GET", is_post ? "Allow: POST\r\n" : "Allow: GET\r\n");
  if (is_post && !is_json(head)) return json_refusal(415, "the Content-Type must be application/json");
  return std::nullopt;
}

Task<JsonReply> TaskServer::respond(http::IncomingRequest request) {
  const std::string path(request.path());
  if (path == kTasks) {
    JsonReply reply = co_await post_task(request.body);
    co_return reply;
  }
  if (path != "/health") co_return get_task(path.substr(std::string_view("/task/").size()));
  JsonReply health{200, {{"status", "ok"}, {"timestamp", iso_time_now()}}, {}};
  co_return health;
}

Task<JsonReply> TaskServer::post_task(const std::string& body) {
  auto order = read_order(body);
  if (!order) co_return json_refusal(400, order.error().what);
  if (running_.size() >= settings_.tasks)
    co_return json_refusal(503, fmt::format("{} tasks run already", running_.size()), "Retry-After: 5\r\n");
  auto it = begin(order->user, order->text);
  if (!it) co_return json_refusal(503, it.error().what);
  const TaskPtr task = *std::move(it);
  if (order->is_background) {
    keep(task);
    JsonReply accepted{202, {{"id", task->id}, {"state", "running"}, {"session", task->session}}, {}};
    accepted.headers = "Location: /task/" + task->id + "\r\n";
    co_return accepted;
  }
  // A client that leaves ends its task, which costs money.
  struct CancelGuard {
    ServedTask& task;
    ~CancelGuard() {
      if (task.run) task.run->cancel("the client has left");
    }
  };
  const CancelGuard guard{*task};
  co_await task->over;
  JsonReply reply{status_of(task->outcome), outcome_json(task->outcome, task->session), {}};
  co_return reply;
}

JsonReply TaskServer::get_task(const std::string& id) const {
  const auto it = tasks_.find(id);
  if (it == tasks_.end()) return json_refusal(404, "there is no background task with this id");
  const ServedTask& task = *it->second;
  if (!task.over.fired()) return {200, {{"id", id}, {"state", "running"}, {"session", task.session}}, {}};
  Json body = {{"id", id}, {"state", "ended"}};
  body.update(outcome_json(task.outcome, task.session));
  return {200, std::move(body), {}};
}

Result<TaskServer::TaskPtr> TaskServer::begin(const std::string& user, const std::string& text) {
  auto task = std::make_shared<ServedTask>();
  task->id = random_hex(16);
  TRY(AgentTranscript transcript, AgentTranscript::begin(new_session_name(), user, settings_.model, text));
  task->session = transcript.session();
  auto report = [this, id = task->id.substr(0, 8)](const std::string& line) { report_("task " + id + ": " + line); };
  report(fmt::format("user {}, session {}", printable(user, 64), task->session));
  task->run = std::make_unique<AgentRun>(loop_, client_, settings_, daemon_, std::move(transcript), std::move(report));
  running_.emplace(task->id, task);
  runs_.spawn(drive(task));
  return task;
}

Task<> TaskServer::drive(TaskPtr task) {
  task->outcome = co_await task->run->run();
  report_(fmt::format("task {}: ended: {}", task->id.substr(0, 8), run_end_name(task->outcome.end)));
  task->run.reset();
  running_.erase(task->id);
  task->over.fire();
  if (idle_ && running_.empty()) idle_->fire();
}

// The oldest of the ended ones is forgotten.
void TaskServer::keep(TaskPtr task) {
  saved_order_.push_back(task->id);
  const std::string id = task->id;
  tasks_.emplace(id, std::move(task));
  for (auto oldest = saved_order_.begin(); tasks_.size() > kMaxKept && oldest != saved_order_.end();) {
    if (running_.count(*oldest) > 0) {
      ++oldest;
      continue;
    }
    tasks_.erase(*oldest);
    oldest = saved_order_.erase(oldest);
  }
}

}  // namespace agent
