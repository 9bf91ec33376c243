#include "supervisor/protocol/mcp/conversation.h"

#include <fmt/format.h>

#include <utility>

#include "supervisor/base/json/json.h"
#include "supervisor/base/log.h"
#include "supervisor/protocol/mcp/parked_calls.h"

namespace mcp {

Conversation::Conversation(Loop& loop, Server& server, Sink& sink, Client client, ConversationLimits limits)
    : loop_(loop),
      server_(server),
      sink_(sink),
      client_(std::move(client)),
      limits_(limits),
      self_(std::make_shared<Conversation*>(this)) {
  if (!client_.account->unread) client_.account->unread = std::make_shared<UnreadAccount>(server_.unread());
  if (!client_.account->loop) client_.account->loop = server_.loop_shares().of(name());
}

Conversation::~Conversation() {
  self_.reset();
  // A handler's destructor may let another handler finish. That one looks for its call in calls_, which must be empty.
  auto calls = std::exchange(calls_, {});
  calls.clear();
  server_.parked_calls().leave(principal(), this, limits_.parked);
}

std::string Conversation::ids_in_work() const {
  std::string ids;
  for (const auto& [id, call] : calls_) ids.append(ids.empty() ? "" : ",").append(id.wire);
  return ids;
}

void Conversation::receive(std::string_view text, IncomingJson json) {
  auto& value = json.value;
  if (!value) return refuse(value.error().id, value.error().error, {});
  const FreesBeside frees(server_.work(), *value);
  if (value->is_array()) {
    on_batch(*std::move(value), json.measures);
  } else {
    on_message(*std::move(value), text, json.measures.empty() ? MessageMeasure{} : json.measures.front(), {});
  }
}

void Conversation::on_batch(Json&& items, const std::vector<MessageMeasure>& measures) {
  std::string wrong;
  if (!settings_.negotiated || !has_batches(*settings_.negotiated)) {
    wrong = "arrays of messages are allowed only in protocol version 2025-03-26";
  } else if (items.empty()) {
    wrong = "an empty array";
  } else if (items.size() > limits_.batch) {
    wrong = fmt::format("{} messages in one array, the limit is {}", items.size(), limits_.batch);
  }
  if (!wrong.empty()) {
    refuse({}, {ErrorCode::invalid_request, "Invalid Request: " + wrong, {}}, {});
    return;
  }
  auto send = [self = std::weak_ptr(self_)](const RequestId* id, std::string line) {
    if (const auto alive = self.lock()) (*alive)->sink_.answer(id, std::move(line), {});
  };
  auto batch = std::make_shared<AnswerBatch>(client_.account->unread, std::move(send));
  for (size_t i = 0; i < items.size(); i++)
    on_message(std::move(items[i]), {}, i < measures.size() ? measures[i] : MessageMeasure{}, batch);
}

void Conversation::on_message(Json&& value, std::string_view text, const MessageMeasure& measure, const Batch& batch) {
  auto message = read_message(std::move(value), text);
  if (!message) {
    refuse(message.error().id, message.error().error, batch);
    return;
  }
  const FreesBeside frees(server_.work(), message->content());
  switch (message->kind) {
    case Message::Kind::request:
      on_request(*std::move(message), measure, batch);
      break;
    case Message::Kind::notification:
      on_notification(*message);
      break;
    case Message::Kind::response:
      on_response(*message);
      break;
  }
}

void Conversation::on_notification(const Message& message) {
  if (message.method != "notifications/cancelled") return;
  const auto id = message.params.find("requestId");
  if (id == message.params.end()) return;
  if (auto cancelled = RequestId::from(*id)) cancel(*cancelled);
}

void Conversation::on_request(Message&& message, const MessageMeasure& measure, const Batch& batch) {
  if (client_.refusal) return answer_refusal(message.id, batch);
  auto not_found = [&] {
    refuse(message.id, {ErrorCode::method_not_found, "Method not found: " + printable(message.method, 64), {}}, batch);
  };
  if (calls_.contains(message.id)) {  // the client would take an error with that id for the first request's answer
    return refuse({}, {ErrorCode::invalid_request, "Invalid Request: id " + message.id.wire + " is in use", {}}, batch);
  }
  if (!server_.is_known(message.method)) return not_found();
  if (batch && message.method == "initialize") {
    return refuse(message.id, {ErrorCode::invalid_request, "Invalid Request: initialize must not be in an array", {}},
                  batch);
  }
  auto meta = read_meta(message.params);
  if (!meta) return refuse(message.id, std::move(meta).error(), batch);

  const std::optional<Version> version = meta->modern ? meta->modern : settings_.negotiated;
  if (!version && message.method != "initialize" && message.method != "ping") {
    const auto text = fmt::format("Invalid params: send initialize first, or name a version in _meta[\"{}\"]",
                                  meta_key::kProtocolVersion);
    return refuse(message.id, {ErrorCode::invalid_params, text, {}}, batch);
  }
  const Version spoken = version.value_or(kNewestLegacy);
  const auto method = server_.find_method(message.method, era_of(spoken));
  if (!method) return not_found();
  if (!Server::is_immediate(*method)) {
    return start_call(*method, std::move(message), measure, *std::move(meta), spoken, batch);
  }
  const auto answer = answer_at_once(*method, spoken, message.params);
  if (!answer) return refuse(message.id, answer.error(), batch);
  reply(&message.id, result_line(message.id, *answer), {}, batch);
}

Answer Conversation::answer_at_once(Method method, Version version, const Json& params) {
  switch (method) {
    case Method::initialize:
      return initialize(params);
    case Method::set_level:
      return set_level(params);
    case Method::subscribe:
    case Method::unsubscribe:
      return subscribe(method, params);
    default:
      return server_.answer_now(method, version, client_.user, params);
  }
}

void Conversation::answer_refusal(const RequestId& id, const Batch& batch) {
  const Error& refusal = *client_.refusal;
  Json data = {{"code", code_name(refusal.code)}, {meta_key::kNotRun, "refused"}};
  if (!refusal.hint.empty()) data["remedy"] = refusal.hint;
  refuse(id, {ErrorCode::internal_error, refusal.what, std::move(data)}, batch);
  over_ = true;
}

void Conversation::reply(const RequestId* id, std::string line, std::optional<ErrorCode> error, const Batch& batch) {
  if (batch) {
    batch->add(id, line);
  } else {
    sink_.answer(id, std::move(line), error);
  }
}

void Conversation::refuse(const std::optional<RequestId>& id, const RpcError& error, const Batch& batch) {
  reply(id ? &*id : nullptr, error_line(id, error), error.code, batch);
}

}  // namespace mcp
