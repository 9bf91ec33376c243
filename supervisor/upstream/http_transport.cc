#include "supervisor/upstream/http_transport.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/base64.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/protocol/mcp/jsonrpc.h"
#include "supervisor/upstream/authorization/challenge.h"
#include "supervisor/upstream/http_post.h"

namespace upstream {
namespace {

using namespace std::chrono_literals;

constexpr size_t kMaxPosts = 256;
constexpr size_t kMaxRefusal = 64 << 10, kMaxListedBytes = 300;
constexpr size_t kMaxSession = 1024;
constexpr auto kNotification = 30s;  // time for the server to accept a notification
constexpr auto kGrace = 1s;          // for a reply to end after its answer; then its connection can be reused
constexpr auto kSessionEnd = 2s;     // for the DELETE that ends the session

constexpr const char* kCall = "tools/call";

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
}

// Whether `message` is a JSON-RPC answer to request `id`.
bool concerns(const Json& message, int64_t id) {
  return message.is_object() && message.value("id", Json()) == Json(id);
}

bool speaks_of_session(const std::string& body) {
  return body.find("session") != body.npos || body.find("Session") != body.npos;
}

// The scopes that a token should have, if the server refuses it because it has too few; nullopt: it does not.
std::optional<std::vector<std::string>> missing_scopes(const http::ReplyHead& head) {
  const auto challenge = head.status == 403 ? oauth::bearer_challenge(head) : std::nullopt;
  if (!challenge || challenge->error != "insufficient_scope") return {};
  return challenge->scopes;
}

std::string excerpt(const std::string& body) {
  auto parsed = parse_json(body);
  if (parsed && parsed->is_object()) {
    const Json error = parsed->value("error", Json());
    const Json message = error.is_object() ? error.value("message", Json()) : error;
    if (message.is_string()) return printable(message.get<std::string>(), kMaxListedBytes);
  }
  return printable(body, kMaxListedBytes);
}

}  // namespace

std::string header_value(std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= ' ' && c < 0x7f; });
  const bool padded = text.starts_with(' ') || text.ends_with(' ');
  if (plain && !padded && !(text.starts_with("=?base64?") && text.ends_with("?="))) return std::string(text);
  return "=?base64?" + to_base64(text) + "?=";
}

// One POST under way. Destroying it closes its reply.
HttpTransport::HttpTransport(Loop& loop, std::shared_ptr<http::HttpClient> client, const ServerConfig& config,
                             const Variables& secrets, std::shared_ptr<oauth::BearerTokens> tokens)
    : loop_(loop),
      client_(std::move(client)),
      config_(config),
      headers_(config.headers.begin(), config.headers.end()),
      tokens_(std::move(tokens)),
      self_(std::make_shared<HttpTransport*>(this)),
      tasks_(loop) {
  hidden_ = secret_headers(config, secrets);
  for (const auto& [name, value] : secrets) {
    std::erase_if(headers_, [&name](const auto& item) { return item.first == name; });
    headers_.emplace_back(name, value);
  }
}

HttpTransport::~HttpTransport() {
  self_.reset();
  tasks_.cancel_all();
  posts_.clear();
}

http::ClientRequest HttpTransport::request(std::string method) const {
  http::ClientRequest request;
  request.method = std::move(method);
  request.url = config_.url;
  request.socket = config_.socket;
  request.authorities = config_.authorities;
  request.headers = headers_;
  request.connect = std::min(request.connect, config_.start);
  request.limit = 0ms;  // the waiting request has its own limit
  request.max_body = SIZE_MAX;
  if (!version_.empty()) request.headers.emplace_back("MCP-Protocol-Version", version_);
  if (!session_.empty()) request.headers.emplace_back("Mcp-Session-Id", session_);
  if (!token_.empty()) request.headers.emplace_back("Authorization", "Bearer " + token_);
  return request;
}

Variables HttpTransport::late_secrets() const {
  Variables all;
  if (!tokens_) return all;
  for (const auto& token : tokens_->sent()) all.emplace_back("token", token);
  return all;
}

Task<Result<>> HttpTransport::take_token() {
  if (!tokens_) co_return Result<>{};
  CO_TRY(token_, co_await tokens_->token());
  co_return Result<>{};
}

Task<Result<>> HttpTransport::replace_token(std::string refused) {
  CO_TRY(token_, co_await tokens_->renewed(std::move(refused)));
  co_return Result<>{};
}

Task<HttpTransport::Reply> HttpTransport::send_post(Message& message) {
  http::ClientRequest client_request = request("POST");
  if (!message.id) client_request.limit = kNotification;
  client_request.headers.emplace_back("Accept", "application/json, text/event-stream");
  client_request.headers.emplace_back("Content-Type", "application/json");
  client_request.headers.insert(client_request.headers.end(), message.headers.begin(), message.headers.end());
  client_request.only_once = message.method == kCall;
  if (tokens_) {
    client_request.body = message.text;  // kept for the case that the token is refused
  } else {
    client_request.body = std::move(message.text);
  }
  Reply reply{client_->start(std::move(client_request)), fail(Code::internal, "no reply")};
  reply.head = co_await reply.exchange->head();
  co_return reply;
}

bool HttpTransport::full() const { return posts_.size() >= kMaxPosts / 2; }

void HttpTransport::send(const Json& message, Arguments arguments) {
  Message item;
  if (arguments.text) {
    const std::string before = text_before_arguments(message);
    item.text.reserve(before.size() + arguments.text->size() + kAfterArguments.size());
    item.text.append(before).append(*arguments.text).append(kAfterArguments);
  } else {
    item.text = dump_json(message);
  }
  item.method = message.value("method", std::string());
  if (message.contains("id") && !item.method.empty()) item.id = message["id"].get<int64_t>();
  if (version_ == kModern && !item.method.empty()) {
    item.headers = std::move(arguments.mirrored);
    item.headers.emplace_back("Mcp-Method", item.method);
    const Json& params = message["params"];
    for (const char* key : {"name", "uri"})
      if (params.contains(key) && params[key].is_string())
        item.headers.emplace_back("Mcp-Name", header_value(params[key].get<std::string>()));
  }
  if (settling_) return waiting_.push_back(std::move(item));
  settling_ = item.method == "notifications/initialized";
  post(std::move(item));
}

void HttpTransport::post(Message message) {
  if (over_) return;
  auto item = std::make_shared<Post>(loop_, message.id, received_bytes_);
  if (posts_.size() >= kMaxPosts) {
    if (message.id)
      loop_.defer([weak = std::weak_ptr(self_), id = *message.id] {
        if (auto self = weak.lock())
          (*self)->listener_.unanswered(id, Error{Code::exhausted, 0, "has too many open requests", "", ""});
      });
    return;
  }
  posts_.emplace(++last_post_, item);
  item->task.spawn(carry(item, std::move(message)));
}

// The post owns this task, so a later turn of the loop destroys the post.
Task<> HttpTransport::carry(std::shared_ptr<Post> post, Message message) {
  std::weak_ptr<HttpTransport*> self = self_;
  Loop& loop = loop_;
  Post& item = *post;
  post.reset();  // the post owns this task; a reference in the task would be a cycle
  co_await converse(message, item);
  if (message.method == "notifications/initialized") {
    settling_ = false;
    tasks_.spawn(listen());
    for (auto& next : std::exchange(waiting_, {})) this->post(std::move(next));
  }
  loop.defer([self, exited = &item] {
    if (auto alive = self.lock())
      std::erase_if((*alive)->posts_, [exited](const auto& entry) { return entry.second.get() == exited; });
  });
}

Task<> HttpTransport::converse(Message& message, Post& post) {
  needs_login_ = false;
  auto ready = co_await take_token();
  if (!ready) {
    received_++;  // the server does not hang: it was not asked
    needs_login_ = true;
    co_return give_up(message, std::move(ready).error(), MayHaveRun::no);
  }
  std::string sent = token_;
  Reply reply = co_await send_post(message);
  if (tokens_ && reply.head && reply.head->status == 401) {
    received_++;
    reply.exchange.reset();
    auto renewed = co_await replace_token(std::move(sent));
    if (!renewed) {
      needs_login_ = true;
      co_return give_up(message, std::move(renewed).error(), MayHaveRun::no);
    }
    Reply retry = co_await send_post(message);
    reply = std::move(retry);
  }
  auto& [exchange, head] = reply;
  if (!head) {
    const MayHaveRun may_have_run = exchange->may_be_sent() ? MayHaveRun::yes : MayHaveRun::no;
    co_return unreached(message, std::move(head).error(), may_have_run);
  }
  received_++;  // a reply of any status shows that the server runs
  if (message.method == "initialize" && head->status == 200) {
    session_ = head->header("mcp-session-id");
    if (session_.size() > kMaxSession || !is_visible(session_)) session_.clear();
  }
  if (head->status == 200 && head->media_type() == http::kEventStreamType) {
    co_await take_stream(std::move(exchange), message, post);
    co_return;
  }
  auto body = co_await read_body(*exchange, head->status == 200 ? kMaxMessage : kMaxRefusal, post.reserved);
  if (head->status == 200 && body) {
    auto full = std::make_shared<const std::string>(*std::move(body));
    const MessageText text{*full, {full, full->data()}};
    co_await listener_.message(text, message.id);
    co_return give_up(message, Error{Code::unavailable, 0, "sent a reply that is not an MCP answer", "", ""},
                      MayHaveRun::yes);
  }
  if (head->status == 200) co_return give_up(message, std::move(body).error(), MayHaveRun::yes);
  const std::string statement = body ? *std::move(body) : std::string();
  co_await take_refusal(*head, message, statement);
}

// Without effect if the request is answered.
void HttpTransport::give_up(const Message& message, Error error, MayHaveRun may_have_run) {
  if (!message.id) return;
  if (may_have_run == MayHaveRun::yes && message.method == kCall) {
    error.what += "; the call may have run";
    if (error.hint.empty()) error.hint = "look whether it had effects before you call it again";
  }
  listener_.unanswered(*message.id, std::move(error));
}

// The server cannot be reached: the transport ends, and the next call makes a new one, as after the end of a process.
void HttpTransport::unreached(const Message& message, Error error, MayHaveRun may_have_run) {
  const Error why = error;
  give_up(message, std::move(error), may_have_run);
  if (why.code == Code::unavailable) over(why);
}

void HttpTransport::over(Error why) {
  if (std::exchange(over_, true)) return;
  listener_.ended(std::move(why));
}

Task<> HttpTransport::take_refusal(const http::ReplyHead& head, const Message& message, const std::string& body) {
  if (!message.id) co_return;  // a notification: 202, or an error that has no reader
  const bool is_about_token = tokens_ && (head.status == 401 || head.status == 403);
  auto parsed = parse_json(body);
  if (!is_about_token && parsed && concerns(*parsed, *message.id)) {
    const MessageText text{body, {}};
    co_await listener_.message(text, message.id);
    co_return;
  }
  // A forgotten session is 404 in the specification. Some servers send 400 and name the session in the text.
  const bool forgotten = head.status == 404 || (head.status == 400 && speaks_of_session(body));
  if (!session_.empty() && forgotten && message.method != "initialize") {
    listener_.not_accepted(*message.id);
    co_return over(Error{Code::unavailable, 0, "no longer knows its session", "", ""});
  }
  needs_login_ = is_about_token && (head.status == 401 || missing_scopes(head));
  listener_.unanswered(*message.id, refusal_of(head, body));
}

// More scopes are never asked for without a person: the error names them, and the command.
Error HttpTransport::refusal_of(const http::ReplyHead& head, const std::string& body) const {
  Variables hidden = late_secrets();
  hidden.insert(hidden.end(), hidden_.begin(), hidden_.end());
  Error error{Code::unavailable, 0, fmt::format("answered with HTTP status {}", head.status), "", ""};
  if (const std::string text = excerpt(hide_secrets(hidden, body)); !text.empty()) error.what += ": " + text;
  if (head.status == 401 || head.status == 403)
    error.hint = "add the server's credentials to `secrets`: \"Authorization\" and the path of a file";
  if (tokens_ && head.status == 401) error.hint = tokens_->needs_login("").hint;
  if (tokens_ && head.status == 403) error.hint = "the login may not do that; ask the server's operator";
  if (const auto scopes = missing_scopes(head); tokens_ && scopes) {
    error.what = "wants more rights than the login has: the scopes " +
                 (scopes->empty() ? "are not named" : oauth::join_scopes(*scopes));
    error.hint = tokens_->more_scopes_hint(*scopes);
  }
  if (head.status >= 300 && head.status < 400) {
    error.what += " to " + printable(hide_secrets(hidden, head.header("location")), kMaxListedBytes);
    error.hint = "redirects are not followed: write the new URL into the configuration";
  }
  return error;
}

Task<Result<std::string>> HttpTransport::read_body(http::Exchange& exchange, size_t max, size_t& used) {
  std::string body;
  for (;;) {
    CO_TRY(const std::string part, co_await exchange.read());
    if (part.empty()) co_return body;
    received_ += part.size();
    body += part;
    CO_CHECKED(reserve(used, body.size()));
    if (body.size() > max)
      co_return fail(Code::unavailable, fmt::format("answered with more than {} MB", kMaxMessage >> 20),
                     "ask for less data");
  }
}

void HttpTransport::answered(int64_t id) {
  for (auto& [number, one] : posts_) {
    if (one->id != id) continue;
    one->is_answered = true;
    one->grace = Deadline(loop_, kGrace, [this, number = number] { posts_.erase(number); });
  }
}

void HttpTransport::cancel(int64_t id) {
  std::erase_if(posts_, [id](const auto& entry) { return entry.second->id == id; });
  std::erase_if(waiting_, [id](const Message& message) { return message.id == id; });
  if (version_ == kModern) return;
  send({{"jsonrpc", "2.0"},
        {"method", "notifications/cancelled"},
        {"params", {{"requestId", id}, {"reason", "the caller no longer waits"}}}},
       {});
}

void HttpTransport::close() {
  tasks_.cancel_all();
  posts_.clear();
  if (!session_.empty() && !over_) {
    struct Farewell {
      static Task<> say(std::shared_ptr<http::HttpClient> client, http::ClientRequest request) {
        (void)co_await client->fetch(std::move(request));
      }
    };
    http::ClientRequest last = request("DELETE");
    last.limit = last.connect = kSessionEnd;
    loop_.spawn(Farewell::say(client_, std::move(last)));
  }
  over(Error{Code::unavailable, 0, "was ended by the daemon", "", ""});
}

}  // namespace upstream
