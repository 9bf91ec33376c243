#include "supervisor/protocol/streamable_http/post.h"

#include <fmt/format.h>

#include <utility>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/protocol/mcp/protocol.h"
#include "supervisor/protocol/streamable_http/header_checks.h"

namespace streamable_http {
namespace {

constexpr std::string_view kEvents = "text/event-stream";

std::optional<mcp::RequestId> id_in(const Json& message) {
  if (!message.is_object()) return {};
  const auto id = message.find("id");
  return id == message.end() ? std::nullopt : mcp::RequestId::from(*id);
}

// The version that the headers name; nullopt: absent, or unknown.
std::optional<mcp::Version> version_in(const http::IncomingRequest& request) {
  const std::string* named = request.field("mcp-protocol-version");
  return named ? mcp::version_named(*named) : std::nullopt;
}

}  // namespace

int modern_status(std::optional<mcp::ErrorCode> error) {
  if (!error) return 200;
  switch (*error) {
    case mcp::ErrorCode::method_not_found:
      return 404;
    case mcp::ErrorCode::parse_error:
    case mcp::ErrorCode::invalid_request:
    case mcp::ErrorCode::header_mismatch:
    case mcp::ErrorCode::missing_client_capability:
    case mcp::ErrorCode::unsupported_protocol_version:
      return 400;
    default:
      return 200;
  }
}

ModernPost::ModernPost(Loop& loop, mcp::Server& server, ServerReply& reply, mcp::Conversation::Client client, Form form,
                       const HttpLimits& limits)
    : reply_(reply), form_(form) {
  if (form_ == Form::json_or_events) silence_ = Deadline(loop, limits.comments, [this] { reply_.begin_events(); });
  conversation_.emplace(loop, server, static_cast<mcp::Sink&>(*this), std::move(client), limits.conversation);
}

ModernPost::~ModernPost() { conversation_.reset(); }

void ModernPost::receive(std::string_view text, mcp::IncomingJson json) {
  conversation_->receive(text, std::move(json));
  // A notification, or a response without a request.
  if (!reply_.was_started() && conversation_->calls() == 0) reply_.send({202, {}, {}});
}

void ModernPost::answer(const mcp::RequestId*, std::string line, std::optional<mcp::ErrorCode> error) {
  silence_ = {};
  if (reply_.has_ended()) return;
  if (!reply_.was_started()) return reply_.send({modern_status(error), std::move(line), {}});
  const mcp::Outbox::Cork cork(reply_.outbox());
  reply_.event({}, line);
  reply_.end_events();
}

// A slow reader loses progress, not answers.
void ModernPost::notify(const mcp::RequestId*, std::string line, Delivery delivery) {
  if (form_ == Form::json_only || reply_.has_ended() || (delivery == Delivery::if_room && full())) return;
  const mcp::Outbox::Cork cork(reply_.outbox());
  silence_ = {};
  reply_.begin_events();
  reply_.event({}, line);
}

PostResponder::PostResponder(Parts parts, ServerReply& reply, mcp::Conversation::Client client,
                             http::IncomingRequest request)
    : parts_(parts), reply_(reply), client_(std::move(client)), self_(std::make_shared<PostResponder*>(this)) {
  task_.emplace(run(std::move(request)));
  task_->resume();
}

PostResponder::~PostResponder() {
  task_.reset();
  next_.reset();
}

Task<> PostResponder::run(http::IncomingRequest incoming_request) {
  http::IncomingRequest request = std::move(incoming_request);
  auto text = std::make_shared<const std::string>(std::move(request.body));
  const mcp::ReadingPlan plan = mcp::plan_reading(*text, parts_.server.work() != nullptr);
  // The task's memory is freed when it is done: the reply may stay open for long.
  const auto free_task = [self = std::weak_ptr(self_)] {
    if (const auto alive = self.lock()) (*alive)->task_.reset();
  };
  if (!plan.beside) {
    take(request, *text, mcp::read_on_loop(*text, plan.bytes));
    parts_.loop.defer(free_task);
    co_return;
  }
  std::function<Result<mcp::IncomingJson>()> job = [text]() -> Result<mcp::IncomingJson> {
    return mcp::measure_json(*text, mcp::parse_line(*text));
  };
  Work::Owner owner{client_.principal.displayed()};
  const mcp::Server::Busy busy(parts_.server, mcp::Server::Busy::Kind::call);
  auto json = co_await parts_.server.work()->run(std::move(owner), text->size(), std::move(job));
  const std::shared_ptr<LoopShare> share = client_.account->loop;
  const LoopShare::Use use(*share);
  if (json) {
    take(request, *text, *std::move(json));
  } else {
    refuse(503, {}, {mcp::ErrorCode::internal_error, json.error().what, {}});
  }
  parts_.loop.defer(free_task);
}

void PostResponder::refuse(int status, const std::optional<mcp::RequestId>& id, const mcp::RpcError& error) {
  reply_.send({status, mcp::error_line(id, error), {}});
}

void PostResponder::take(const http::IncomingRequest& request, std::string_view text, mcp::IncomingJson json) {
  if (!json.value) return refuse(400, json.value.error().id, json.value.error().error);
  if (is_modern(request, *json.value)) return take_modern(request, text, std::move(json));
  take_legacy(request, text, std::move(json));
}

void PostResponder::take_modern(const http::IncomingRequest& request, std::string_view text, mcp::IncomingJson json) {
  const auto id = id_in(*json.value);
  const auto params = json.value->find("params");
  if (json.value->contains("id") && json.value->contains("method")) {
    if (params == json.value->end() || !params->is_object() || !params->contains("_meta"))
      return refuse(400, id,
                    {mcp::ErrorCode::invalid_params,
                     fmt::format("Invalid params: _meta[\"{}\"] must be a string", mcp::meta_key::kProtocolVersion),
                     {}});
    const auto meta = mcp::read_meta(*params);
    if (!meta && meta.error().code != mcp::ErrorCode::unsupported_protocol_version)
      return refuse(400, id, meta.error());
    if (auto header = find_mismatch(request, *json.value, parts_.server))
      return refuse(400, id,
                    {mcp::ErrorCode::header_mismatch,
                     fmt::format("Header mismatch: {} does not say the same as the body", printable(*header, 64)),
                     {}});
    if (!meta) return refuse(400, id, meta.error());
    if (!meta->modern)
      return refuse(400, id,
                    {mcp::ErrorCode::invalid_params,
                     fmt::format("Invalid params: _meta[\"{}\"] must be a string", mcp::meta_key::kProtocolVersion),
                     {}});
  }
  const auto form = accepts(request, kEvents) ? ModernPost::Form::json_or_events : ModernPost::Form::json_only;
  auto post = std::make_unique<ModernPost>(parts_.loop, parts_.server, reply_, std::move(client_), form, parts_.limits);
  ModernPost& modern_post = *post;
  next_ = std::move(post);
  modern_post.receive(text, std::move(json));
}

void PostResponder::take_legacy(const http::IncomingRequest& request, std::string_view text, mcp::IncomingJson json) {
  if (const std::string* named = request.field("mcp-protocol-version"); named && !version_in(request))
    return refuse(400, id_in(*json.value), mcp::unsupported_version(*named));
  const auto form = accepts(request, kEvents) ? SessionStream::Form::json_or_events : SessionStream::Form::json_only;
  const std::string* named = request.field("mcp-session-id");
  std::shared_ptr<HttpSession> session;
  if (named) {
    session = parts_.sessions.find(*named, client_.principal);
    if (!session) return reply_.send(unknown_session());
  } else if (json.value->is_object() && json.value->value("method", Json()) == "initialize") {
    auto it = parts_.sessions.begin(client_);
    if (!it)
      return refuse(503, id_in(*json.value),
                    {mcp::ErrorCode::internal_error, it.error().what, {{"remedy", it.error().hint}}});
    session = *std::move(it);
  } else {
    return refuse(400, id_in(*json.value),
                  {mcp::ErrorCode::invalid_request, "Bad Request: send initialize first, then its Mcp-Session-Id", {}});
  }
  next_ = session->post(text, std::move(json), reply_, form);
  if (!named && !session->is_initialized()) parts_.sessions.end(session->id());
}

}  // namespace streamable_http
