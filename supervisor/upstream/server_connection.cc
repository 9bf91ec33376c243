#include "supervisor/upstream/server_connection.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/large_value.h"
#include "supervisor/base/log.h"
#include "supervisor/upstream/definitions.h"

namespace upstream {
namespace {

using namespace std::chrono_literals;

constexpr size_t kMaxPages = 100;
constexpr auto kMaxStartPause = 60s;
constexpr auto kBetweenLists = 250ms;

std::chrono::milliseconds pause_after(unsigned failures) {
  if (failures < 2) return 0ms;
  return std::min<std::chrono::milliseconds>(500ms * (1 << std::min(failures - 2, 8u)), kMaxStartPause);
}

const char* where_is(const ServerConfig& config) {
  if (config.remote()) return "over HTTP";
  return config.location == ServerConfig::ServerHost::jail ? "in a jail" : "outside of jails";
}

}  // namespace

// Counts a call under way. The server cannot become idle while one exists.
class ServerConnection::Busy {
 public:
  explicit Busy(ServerConnection& connection) : connection_(connection) {
    connection_.busy_++;
    connection_.idle_ = Deadline();
  }
  ~Busy() {
    if (--connection_.busy_ > 0) return;
    connection_.idle_ = Deadline(connection_.loop_, connection_.config_.idle, [&one = connection_] { one.rest(); });
  }
  Busy(const Busy&) = delete;

 private:
  ServerConnection& connection_;
};

ServerConnection::ServerConnection(Loop& loop, Client::Reading reading, const ServerConfig& config, Observer observer)
    : loop_(loop), reading_(std::move(reading)), config_(config), observer_(std::move(observer)), tasks_(loop) {}

ServerConnection::~ServerConnection() { tasks_.cancel_all(); }

void ServerConnection::rest() {
  if (!client_ || busy_ > 0) return;
  log_info("upstream server {}: idle, ended", config_.name);
  tasks_.cancel_all();
  outdated_ = learning_ = false;
  Client::let_go(loop_, std::exchange(client_, nullptr));
}

Task<Result<std::shared_ptr<Client>>> ServerConnection::ready(Start start) {
  Busy busy(*this);
  if (client_ && client_->over()) client_ended();
  if (client_) co_return client_;
  if (!starting_) {
    const auto now = Monotonic::now();
    if (now < not_before_) {
      const auto remaining = std::chrono::duration<double>(not_before_ - now).count();
      const std::string why = last_start_ ? "it ends again and again" : last_start_.error().what;
      const std::string remedy = last_start_ || last_start_.error().hint.empty() ? "" : last_start_.error().hint + "; ";
      co_return fail(Code::unavailable, fmt::format("server '{}' is not started again yet: {}", config_.name, why),
                     fmt::format("{}try again in {:.1f} s", remedy, remaining));
    }
    starting_ = true;
    tasks_.spawn(begin(std::move(start)));
  }
  if (starting_) {
    OneShot<> over(loop_);
    waiting_.push_back(over.resolver());
    co_await over;
  }
  if (!last_start_) co_return tl::unexpected<Error>(last_start_.error());
  if (!client_)
    co_return fail(Code::unavailable, fmt::format("server '{}' ended at once after its start", config_.name));
  co_return client_;
}

// Runs as a separate task: the call that needs the server may be cancelled meanwhile.
Task<> ServerConnection::begin(Start start) {
  auto result = co_await start_client(start);
  started(std::move(result));
}

void ServerConnection::started(Result<> result) {
  starting_ = false;
  if (observer_.counts) (result ? observer_.counts->starts_ok : observer_.counts->starts_failed)++;
  if (!result) {
    failures_++;
    not_before_ = Monotonic::now() + pause_after(failures_ + 1);
    result = tl::unexpected<Error>(std::move(result).error().within(fmt::format("server '{}'", config_.name)));
    log_warning("{}{}{}", result.error().what, result.error().hint.empty() ? "" : "; ", result.error().hint);
  }
  if (observer_.problem)
    observer_.problem(result ? std::string()
                             : result.error().what + (result.error().hint.empty() ? "" : "; " + result.error().hint));
  last_start_ = std::move(result);
  for (const auto& waiting : std::exchange(waiting_, {})) waiting.resolve();
}

Task<Result<>> ServerConnection::start_client(const Start& start) {
  CO_TRY(Variables secrets, read_secrets(config_));
  const auto started = Monotonic::now();
  Variables passed = secrets;
  CO_TRY(std::unique_ptr<Transport> transport, co_await start.transport(std::move(passed)));
  if (config_.remote()) secrets = secret_headers(config_, secrets);
  Client::Listener listener;
  listener.tools_changed = [this] { tools_changed(); };
  listener.ended = [this] { client_ended(); };
  auto client =
      std::make_shared<Client>(loop_, reading_, std::move(transport), std::move(secrets), std::move(listener));
  CO_CHECKED(co_await client->open(config_.start, start.questions));
  CO_CHECKED(co_await learn(client));
  log_info("upstream server {}: ready in {:.0f} ms, {}, {}", config_.name, ms_since(started),
           client->era() == mcp::Era::modern ? "2026-07-28" : "by handshake", where_is(config_));
  client_ = std::move(client);
  Busy idles(*this);
  co_return Result<>{};
}

Task<Result<>> ServerConnection::learn(std::shared_ptr<Client> client) {
  Json all = Json::array();
  std::string cursor;
  const uint64_t received = client->received_bytes();
  if (!observer_.learned) co_return Result<>{};
  for (size_t page = 0; page < kMaxPages && all.size() < Definitions::kMaxTools; page++) {
    Client::Request order{"tools/list"};
    if (!cursor.empty()) order.params["cursor"] = cursor;
    order.limit = config_.start;
    CO_TRY(ServerAnswer answer, co_await client->request(std::move(order)));
    if (answer.is_error)
      co_return fail(Code::unavailable, "does not list its tools: " + printable(answer.message, 200));
    if (answer.is_mended)
      log_warning("upstream server {}: its list of tools has NaN or Infinity, which JSON does not have: null is read",
                  config_.name);
    if (client->received_bytes() - received > Definitions::kMaxBytes)
      co_return fail(Code::unavailable, fmt::format("lists more than {} MB of tools", Definitions::kMaxBytes >> 20));
    FreedBeside page_of_tools(&reading_.work, std::move(answer.result));
    Json& result = *page_of_tools;
    if (const auto tools = result.find("tools"); tools != result.end() && tools->is_array()) {
      const size_t room = std::min(tools->size(), Definitions::kMaxTools - all.size());
      std::move(tools->begin(), tools->begin() + static_cast<ptrdiff_t>(room), std::back_inserter(all));
    }
    const auto next = result.find("nextCursor");
    if (next == result.end() || !next->is_string()) break;
    const auto& text = next->get_ref<const std::string&>();
    if (text.empty() || text == cursor) break;
    cursor = text;
  }
  auto learned = co_await observer_.learned(std::move(all));
  co_return learned;
}

void ServerConnection::tools_changed() {
  outdated_ = true;
  if (std::exchange(learning_, true)) return;
  tasks_.spawn(relearn());
}

// A server may report changes very often. tools/list is sent one at a time, with pauses.
Task<> ServerConnection::relearn() {
  while (outdated_) {
    co_await sleep_for(loop_, kBetweenLists);
    outdated_ = false;
    auto client = client_;
    if (!client) break;
    auto learned = co_await learn(client);
    if (!learned) log_warning("upstream server {}: {}", config_.name, learned.error().what);
  }
  learning_ = false;
}

void ServerConnection::client_ended() {
  auto client = std::exchange(client_, nullptr);
  if (!client) return;
  if (observer_.counts) observer_.counts->losses++;
  failures_++;
  not_before_ = Monotonic::now() + pause_after(failures_);
  log_warning("upstream server {}: {}", config_.name, client->why_over());
  if (observer_.problem) observer_.problem(client->why_over());
}

Task<Result<ServerAnswer>> ServerConnection::call(Start start, Client::Request order) {
  const auto started = Monotonic::now();
  const auto limit = order.limit;
  Busy busy(*this);
  for (int tries = 1;; tries++) {
    CO_TRY(std::shared_ptr<Client> client, co_await ready(start));
    const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(Monotonic::now() - started);
    Client::Request request = order;
    request.limit = std::min(std::max(limit - spent, 1ms), config_.timeout);
    const auto received = client->received_bytes();
    auto answer = co_await client->call(std::move(request));
    if (answer && answer->not_accepted && tries == 1) continue;
    if (answer) {
      failures_ = 0;
      co_return answer;
    }
    // The server sent no byte during the whole call, so it hangs. The next call starts a new one.
    const bool refused = answer.error().code == Code::exhausted;  // by this side, not by the server
    if (!refused && !client->over() && client->received_bytes() == received && client_ == client) {
      client_ended();
      Client::let_go(loop_, std::move(client));
    }
    co_return tl::unexpected<Error>(std::move(answer).error().within(fmt::format("server '{}'", config_.name)));
  }
}

}  // namespace upstream
