#include "supervisor/upstream/client.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/json/value_bytes.h"
#include "supervisor/base/large_value.h"
#include "supervisor/base/log.h"
#include "supervisor/base/version.h"
#include "supervisor/protocol/mcp/jsonrpc.h"

namespace upstream {
namespace {

using namespace std::chrono_literals;

constexpr auto kProbeLimit = 3s;  // a server from before 2026 may drop an unknown request
constexpr auto kFarewell = 2s;
constexpr size_t kMaxTornLine = 4096;  // bytes
constexpr size_t kMaxInBatch = 256;    // messages
constexpr const char* kHandshake[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

Json client_info() { return {{"name", "warder"}, {"version", kWarderVersion}}; }

Json capabilities(bool questions) {
  return questions ? Json{{"elicitation", {{"form", Json::object()}}}} : Json::object();
}

Json modern_meta(bool questions) {
  return {{"io.modelcontextprotocol/protocolVersion", kModern},
          {"io.modelcontextprotocol/clientCapabilities", capabilities(questions)},
          {"io.modelcontextprotocol/clientInfo", client_info()}};
}

bool lists_modern(const Json& versions) {
  return versions.is_array() && std::find(versions.begin(), versions.end(), kModern) != versions.end();
}

// Whether the server refuses the version of a request and lists that same version among those that it supports. A
// server of several machines does so while it changes from one release to another.
bool is_worth_another_try(const ServerAnswer& answer) {
  return answer.is_error && answer.code == static_cast<int>(mcp::ErrorCode::unsupported_protocol_version) &&
         answer.data.is_object() && lists_modern(answer.data.value("supported", Json()));
}

bool reports_changes(const Json& discovered) {
  const Json* at = &discovered;
  for (const char* key : {"capabilities", "tools", "listChanged"}) {
    if (!at->is_object() || !at->contains(key)) return false;
    at = &(*at)[key];
  }
  return *at == true;
}

}  // namespace

// A request under way. If it is destroyed before the answer came, the request is cancelled at the server, too.
class Client::PendingRequest {
 public:
  PendingRequest(Client& client, int64_t id, std::string method)
      : client_(client), self_(client.self_), id_(id), method_(std::move(method)) {}
  ~PendingRequest() {
    if (self_.expired()) return;
    auto it = client_.waiting_.find(id_);
    client_.questions_.close(id_, it == client_.waiting_.end());
    if (it == client_.waiting_.end()) return;
    client_.waiting_.erase(it);
    if (method_ != "initialize" && !client_.over_) client_.transport_->cancel(id_);  // MCP: never for initialize
  }
  PendingRequest(const PendingRequest&) = delete;

 private:
  Client& client_;
  std::weak_ptr<Client*> self_;
  int64_t id_;
  std::string method_;
};

Client::Client(Loop& loop, Reading reading, std::unique_ptr<Transport> transport, Variables secrets, Listener listener)
    : loop_(loop),
      reading_(std::move(reading)),
      transport_(std::move(transport)),
      secrets_(std::move(secrets)),
      listener_(std::move(listener)),
      self_(std::make_shared<Client*>(this)),
      questions_(loop, reading_.work, reading_.owner,
                 [this](const Json& message) {
                   if (!over_) transport_->send(message, {});
                 }),
      tasks_(loop) {
  Transport::Listener incoming;
  incoming.message = [this](MessageText text, std::optional<int64_t> of) { return take(std::move(text), of); };
  incoming.noise = [this](size_t bytes) { count_unasked(bytes); };
  incoming.too_long = [this] { lose_one(); };
  incoming.unanswered = [this](int64_t id, Error why) {
    why.what = hide_secrets(this->secrets(), why.what);  // the error may quote the server
    if (auto match = waiting_.extract(id)) match.mapped()->done.resolve(tl::unexpected<Error>(std::move(why)));
  };
  incoming.not_accepted = [this](int64_t id) {
    ServerAnswer answer;
    answer.is_error = answer.not_accepted = true;
    answer.message = "the server no longer knows its session";
    if (auto match = waiting_.extract(id)) match.mapped()->done.resolve(std::move(answer));
  };
  incoming.ended = [this](Error why) {
    why.what = hide_secrets(this->secrets(), why.what);
    finish(std::move(why));
  };
  transport_->begin(std::move(incoming));
}

Client::~Client() { tasks_.cancel_all(); }

void Client::let_go(Loop& loop, std::shared_ptr<Client> client) {
  client->listener_ = {};  // the owner of the listener may be destroyed before the client
  client->tasks_.cancel_all();
  client->transport_->close();
  struct Farewell {
    static Task<> wait(Loop& loop, std::shared_ptr<Client> client) {
      const auto until = std::chrono::steady_clock::now() + kFarewell;
      while (!client->over_ && std::chrono::steady_clock::now() < until) co_await sleep_for(loop, 20ms);
    }
  };
  loop.spawn(Farewell::wait(loop, std::move(client)));
}

Error Client::end_as_error() const {
  Error error = why_over_;
  if (error.what.empty()) error.what = "ended";
  const std::string last = transport_->last_words();
  if (!last.empty()) error.what += "; it last wrote: " + last;
  return error;
}

Variables Client::secrets() const {
  Variables all = transport_->late_secrets();
  all.insert(all.end(), secrets_.begin(), secrets_.end());
  return all;
}

std::string Client::why_over() const { return end_as_error().what; }

Task<Result<>> Client::open(std::chrono::milliseconds limit, Questions questions) {
  transport_->speak(kModern);
  auto discovered = co_await discover(limit);
  if (discovered && is_worth_another_try(*discovered)) discovered = co_await discover(limit);
  if (discovered && !discovered->is_error && lists_modern(discovered->result.value("supportedVersions", Json()))) {
    if (reports_changes(discovered->result)) tasks_.spawn(hear_changes());
    co_return Result<>{};
  }
  if (over_) co_return tl::unexpected<Error>(end_as_error());
  if (!discovered && transport_->needs_login()) co_return tl::unexpected<Error>(std::move(discovered).error());
  auto shaken = co_await try_handshake(limit, questions);
  co_return shaken;
}

Task<Result<ServerAnswer>> Client::discover(std::chrono::milliseconds limit) {
  Request probe{"server/discover"};
  probe.limit = std::min<std::chrono::milliseconds>(limit, kProbeLimit);
  auto answer = co_await request(std::move(probe));
  co_return answer;
}

// Runs until the server ends the subscription. Each change arrives as a notification.
Task<> Client::hear_changes() {
  Request order{"subscriptions/listen"};
  order.params["notifications"] = {{"toolsListChanged", true}};
  order.limit = RequestClock::kForever;
  (void)co_await request(std::move(order));
}

Task<Result<>> Client::try_handshake(std::chrono::milliseconds limit, Questions questions) {
  era_ = mcp::Era::legacy;
  transport_->speak("");
  Request order{"initialize"};
  order.params = {{"protocolVersion", kHandshake[0]},
                  {"capabilities", capabilities(questions == Questions::some)},
                  {"clientInfo", client_info()}};
  order.limit = limit;
  CO_TRY(const ServerAnswer answer, co_await request(std::move(order)));
  if (answer.is_error) co_return fail(Code::unavailable, "refuses the connection: " + printable(answer.message, 200));
  const std::string version = text_member(answer.result, "protocolVersion");
  if (std::find(std::begin(kHandshake), std::end(kHandshake), version) == std::end(kHandshake))
    co_return fail(Code::unavailable, fmt::format("speaks unknown protocol version '{}'", printable(version, 40)),
                   "use a server with protocol version 2024-11-05 to 2026-07-28");
  transport_->speak(version);
  transport_->send({{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}}, {});
  co_return Result<>{};
}

void Client::send_request(int64_t id, Request& order) {
  const NamedWork named_work(LoopWork::server_request, &reading_.owner.name);
  const Json message{
      {"jsonrpc", "2.0"}, {"id", id}, {"method", std::move(order.method)}, {"params", std::move(order.params)}};
  transport_->send(message, std::move(order.arguments));
}

Task<Result<ServerAnswer>> Client::request(Request order) {
  if (over_) co_return tl::unexpected<Error>(end_as_error());
  const int64_t id = ++last_id_;
  if (era_ == mcp::Era::modern) order.params["_meta"].update(modern_meta(order.asking.able));
  if (order.progress) order.params["_meta"]["progressToken"] = id;
  OneShot<Result<ServerAnswer>> done(loop_, fail(Code::unavailable, "no answer"));
  auto waiting = std::make_shared<WaitingRequest>();
  waiting->done = done.resolver();
  waiting->method = order.method;
  waiting->progress = std::move(order.progress);
  waiting_.emplace(id, std::move(waiting));
  RequestClock clock(loop_, order.limit, [limit = order.limit, late = done.resolver()] {
    late.resolve_now(fail(Code::unavailable,
                          fmt::format("did not answer within {:.1f} s", static_cast<double>(limit.count()) / 1000)));
  });
  PendingRequest requested(*this, id, order.method);
  if (era_ == mcp::Era::legacy && order.method == "tools/call") questions_.open(id, std::move(order.asking), clock);
  send_request(id, order);
  auto answer = co_await done;
  co_return answer;
}

// A message was too long and is lost. If exactly one request waits, the message counts as its answer. Otherwise the
// request of the lost answer ends by its time limit.
void Client::lose_one() {
  count_unasked(kMaxUnasked / 4);
  if (waiting_.size() != 1) return;
  fail_request(waiting_.begin()->first, fmt::format("answered with more than {} MB", kMaxMessage >> 20),
               "ask for less data");
}

// The answer to a request came and cannot be used. `why`: "answered with ...". False: no such request waits.
bool Client::fail_request(int64_t id, std::string why, std::string remedy) {
  auto waiting = waiting_.extract(id);
  if (!waiting) return false;
  transport_->answered(id);
  unasked_ = 0;
  if (waiting.mapped()->method == "tools/call") why += "; the call may have run";
  waiting.mapped()->done.resolve(fail(Code::unavailable, std::move(why), std::move(remedy)));
  return true;
}

// A text that is no message. In a list of tools, NaN and Infinity are examples and defaults: they are read as null.
void Client::take_unread(MessageReading& read, std::string_view line, std::optional<int64_t> of, size_t bytes) {
  const auto waiting = read.of ? waiting_.find(*read.of) : waiting_.end();
  if (waiting != waiting_.end() && read.mended && waiting->second->method == "tools/list") {
    waiting->second->is_mended = true;
    return take_message(*read.mended, of, bytes);
  }
  if (read.of) {
    fail_request(*read.of, "answered with text that is not JSON: " + read.problem, "the server must be mended");
  } else if (const auto torn = torn_.add(line)) {
    fail_request(*torn, "answered with a message over several lines; over standard streams each message is one line",
                 "the server must be mended");
  }
}

void Client::count_unasked(size_t bytes) {
  unasked_ += bytes;
  if (unasked_ > kMaxUnasked)
    finish(Error{Code::unavailable, 0, "was ended, because it sent too many messages without a request", {}, {}});
}

// Waiting tasks are woken in a later turn of the loop.
void Client::finish(Error why) {
  if (std::exchange(over_, true)) return;
  why_over_ = std::move(why);
  loop_.defer([weak = std::weak_ptr(self_)] {
    auto self = weak.lock();
    if (!self) return;
    Client& client = **self;
    for (const auto& [id, waiting] : std::exchange(client.waiting_, {}))
      waiting->done.resolve(tl::unexpected<Error>(client.end_as_error()));
    if (auto ended = std::exchange(client.listener_.ended, {})) ended();
  });
}

// Text that holds no message is dropped: many servers print other text to their standard output.
Task<> Client::take(MessageText text, std::optional<int64_t> of) {
  const size_t bytes = text.bytes.size();
  if (reading_.share->is_used_up()) co_await reading_.share->turn();
  // A line of a torn message is short.
  const std::string line =
      bytes <= kMaxTornLine && !text.bytes.starts_with("{\"") ? std::string(text.bytes) : std::string();
  MessageReading reading = co_await read(std::move(text));
  std::optional<Json>& parsed = reading.message;
  const LoopShare::Use use(*reading_.share);
  const NamedWork named_work(LoopWork::server_message, &reading_.owner.name);
  unasked_ += bytes;  // after the parse: a large answer in parsing must not make other messages a flood
  if (!parsed) {
    take_unread(reading, line, of, bytes);
  } else if (parsed->is_object()) {
    if (parsed->contains("jsonrpc")) torn_.forget();  // else it may be a line within a torn message
    take_message(*parsed, of, bytes);
  } else if (parsed->is_array() && parsed->size() <= kMaxInBatch) {  // batches, of version 2025-03-26
    for (Json& item : *parsed)
      if (item.is_object()) take_message(item, of, bytes);
  }
  if (parsed && bytes > Work::kSmall) reading_.work.free_elsewhere(*std::move(parsed));
  count_unasked(0);
}

Task<MessageReading> Client::read(MessageText text) {
  if (is_read_quickly(text.bytes)) {
    const LoopShare::Use use(*reading_.share);
    const NamedWork named_work(LoopWork::server_message, &reading_.owner.name);
    co_return read_message_text(secrets(), text.bytes);
  }
  if (!text.saved) {
    auto copy = std::make_shared<const std::string>(text.bytes);
    text = {*copy, {copy, copy->data()}};
  }
  const size_t bytes = text.bytes.size();
  std::function<Result<MessageReading>()> job = [text, secrets = secrets()]() -> Result<MessageReading> {
    return read_message_text(secrets, text.bytes);
  };
  text = {};
  auto done = co_await reading_.work.run(reading_.owner, bytes, std::move(job));
  if (!done) co_return MessageReading{};
  co_return *std::move(done);
}

void Client::take_message(Json& message, std::optional<int64_t> of, size_t bytes) {
  const bool has_id = message.contains("id"), has_method = message.contains("method");
  if (has_method && has_id) {
    take_request(message, of);
  } else if (has_method) {
    take_notification(message);
  } else if (has_id) {
    take_response(message, bytes);
  }
}

void Client::take_response(Json& message, size_t bytes) {
  const auto id = request_id(message["id"]);
  if (!id) return;
  auto it = waiting_.find(*id);
  if (it == waiting_.end()) return questions_.received(*id);  // an unknown id, or the caller has left
  auto waiting = it->second;
  transport_->answered(it->first);
  waiting_.erase(it);
  unasked_ = 0;
  ServerAnswer answer;
  answer.bytes = bytes;
  answer.is_mended = waiting->is_mended;
  auto error = message.find("error");
  if (error != message.end()) {
    answer.is_error = true;
    if (error->is_object()) {
      const Json code = error->value("code", Json());
      answer.code = code.is_number_integer() ? code.get<int64_t>() : 0;
      answer.message = text_member(*error, "message");
      answer.data = error->value("data", Json());
    }
    if (answer.message.empty()) answer.message = "it failed";
    return waiting->done.resolve(std::move(answer));
  }
  auto result = message.find("result");
  if (result == message.end() || !result->is_object())
    return waiting->done.resolve(fail(Code::unavailable, "answered with neither a result nor an error"));
  answer.result = std::move(*result);
  waiting->done.resolve(std::move(answer));
}

void Client::take_request(const Json& message, std::optional<int64_t> of) {
  if (message["id"].is_structured() || transport_->full()) return;
  if (message["method"] == "elicitation/create" && era_ == mcp::Era::legacy)
    return questions_.ask(message["id"], message.value("params", Json()), of);
  Json reply{{"jsonrpc", "2.0"}, {"id", message["id"]}};
  if (message["method"] == "ping") {
    reply["result"] = Json::object();
  } else {
    reply["error"] = {{"code", -32601}, {"message", "this client does not answer requests of this method"}};
  }
  transport_->send(reply, {});
}

void Client::take_notification(const Json& message) {
  const std::string method = text_member(message, "method");
  if (method == "notifications/tools/list_changed" && listener_.tools_changed) return listener_.tools_changed();
  auto params = message.find("params");
  if (method == "notifications/cancelled" && params != message.end() && params->is_object())
    return questions_.take_back(params->value("requestId", Json()));
  if (method != "notifications/progress" || params == message.end() || !params->is_object()) return;
  const Json token = params->value("progressToken", Json()), value = params->value("progress", Json());
  const Json total = params->value("total", Json());
  if (!token.is_number_integer() || !value.is_number()) return;
  auto it = waiting_.find(token.get<int64_t>());
  if (it == waiting_.end() || !it->second->progress) return;
  it->second->progress(value.get<double>(), total.is_number() ? std::optional(total.get<double>()) : std::nullopt,
                       text_member(*params, "message"));
}

}  // namespace upstream
