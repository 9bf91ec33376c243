#include "supervisor/protocol/streamable_http/session.h"

#include <charconv>
#include <set>
#include <utility>
#include <vector>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace streamable_http {
namespace {

// The ids of the requests in a message or an array of messages.
struct RequestIds {
  std::vector<mcp::RequestId> ids;
  bool any = false;  // also requests with an id that is not valid
};
RequestIds requests_in(const Json& json) {
  RequestIds match;
  const auto check = [&match](const Json& message) {
    if (!message.is_object() || !message.contains("method") || !message.contains("id")) return;
    match.any = true;
    if (auto id = mcp::RequestId::from(message["id"])) match.ids.push_back(*std::move(id));
  };
  if (json.is_array()) {
    for (const Json& message : json) check(message);
  } else {
    check(json);
  }
  return match;
}

// "3-17": event 17 of stream 3.
struct EventId {
  uint64_t stream = 0, event = 0;
};
std::optional<EventId> read_event_id(std::string_view text) {
  EventId id;
  const char* const end = text.data() + text.size();
  const auto stream = std::from_chars(text.data(), end, id.stream);
  if (stream.ec != std::errc() || stream.ptr == end || *stream.ptr != '-') return {};
  const auto event = std::from_chars(stream.ptr + 1, end, id.event);
  if (event.ec != std::errc() || event.ptr != end) return {};
  return id;
}

int legacy_status(std::optional<mcp::ErrorCode> error) {
  return error == mcp::ErrorCode::invalid_request || error == mcp::ErrorCode::parse_error ? 400 : 200;
}

HttpAnswer error_answer(int status, std::string why) {
  return {status, mcp::error_line({}, {mcp::ErrorCode::invalid_request, std::move(why), {}}), {}};
}

}  // namespace

HttpAnswer unknown_session() {
  return error_answer(404, "Session not found: send initialize again, without Mcp-Session-Id");
}

HttpSession::HttpSession(Loop& loop, mcp::Server& server, std::string id, mcp::Conversation::Client client,
                         const SessionLimits& limits)
    : loop_(loop),
      id_(std::move(id)),
      limits_(limits),
      used_at_(Monotonic::now()),
      unread_(client.account->unread, [this] { give_up(); }) {
  conversation_.emplace(loop, server, static_cast<mcp::Sink&>(*this), std::move(client), limits.conversation);
}

HttpSession::~HttpSession() {
  conversation_.reset();
  for (const auto& [number, stream] : streams_) stream->abandon(unknown_session());
}

std::optional<Monotonic::time_point> HttpSession::idle_since() const {
  if (conversation_->calls() > 0) return std::nullopt;
  for (const auto& [number, stream] : streams_)
    if (stream->is_attached()) return std::nullopt;
  return used_at_;
}

std::shared_ptr<SessionStream> HttpSession::add_stream() {
  SessionStream::Settings settings;
  settings.number = next_stream_++;
  settings.primes = version_ && *version_ >= mcp::Version::v2025_11_25;
  settings.limits = limits_.stream;
  settings.on_lost = [this](SessionStream& stream) { lost(stream); };
  auto stream = std::make_shared<SessionStream>(loop_, std::move(settings));
  streams_.emplace(stream->number(), stream);
  return stream;
}

std::unique_ptr<Responder> HttpSession::post(std::string_view text, mcp::IncomingJson json, ServerReply& reply,
                                             SessionStream::Form form) {
  used_at_ = Monotonic::now();
  const RequestIds requests = requests_in(*json.value);
  for (const mcp::RequestId& id : requests.ids) {
    if (!requests_.contains(id)) continue;
    reply.send(error_answer(400, "Invalid Request: id " + id.wire + " is in use"));
    return nullptr;
  }
  const auto stream = add_stream();
  for (const mcp::RequestId& id : requests.ids) requests_.emplace(id, stream);
  stream->attach(reply, form);
  auto reader = std::make_unique<StreamReader>(stream, reply);
  receiving_ = stream;
  conversation_->receive(text, std::move(json));
  receiving_ = nullptr;
  end_cancelled();
  if (!requests.any && !stream->is_finished()) stream->finish(202, {});
  forget_old_streams();
  return reader;
}

std::unique_ptr<Responder> HttpSession::open_stream(ServerReply& reply, const std::string* last_event) {
  used_at_ = Monotonic::now();
  const auto id = last_event ? read_event_id(*last_event) : std::optional(EventId{});
  auto found = id ? streams_.find(id->stream) : streams_.end();
  if (!last_event) {
    if (found == streams_.end()) {
      SessionStream::Settings settings;
      settings.primes = version_ && *version_ >= mcp::Version::v2025_11_25;
      settings.limits = limits_.stream;
      found = streams_.emplace(0, std::make_shared<SessionStream>(loop_, std::move(settings))).first;
    }
    found->second->attach_events(reply);
  } else if (found == streams_.end() || !found->second->resume(reply, id->event)) {
    reply.send(error_answer(400, "the event of Last-Event-ID is not known: it, or events after it, are lost"));
    return nullptr;
  }
  count_unsent();
  return std::make_unique<StreamReader>(found->second, reply);
}

std::shared_ptr<SessionStream> HttpSession::stream_of(const mcp::RequestId* id) const {
  if (!id) return receiving_;
  const auto it = requests_.find(*id);
  return it == requests_.end() ? nullptr : it->second;
}

void HttpSession::end_requests_of(const SessionStream& stream) {
  std::erase_if(requests_, [&](const auto& item) { return item.second.get() == &stream; });
}

void HttpSession::answer(const mcp::RequestId* id, std::string line, std::optional<mcp::ErrorCode> error) {
  auto stream = stream_of(id);
  if (!stream) stream = receiving_;
  if (!stream) return;
  if (stream == receiving_ && version_ && stream->number() == 1) stream->set_headers("Mcp-Session-Id: " + id_ + "\r\n");
  end_requests_of(*stream);
  stream->finish(legacy_status(error), std::move(line));
  count_unsent();
  if (!receiving_) forget_old_streams();
}

void HttpSession::notify(const mcp::RequestId* about, std::string line, Delivery delivery) {
  auto stream = about ? stream_of(about) : nullptr;
  if (!stream) {  // the request was answered, or never came
    const auto general = streams_.find(0);
    if (general == streams_.end()) return;
    stream = general->second;
  }
  stream->notify(std::move(line), delivery);
  if (!stream->is_attached()) count_unsent();
}

bool HttpSession::full() const {
  if (unread_.bytes() >= limits_.unsent_bytes) return true;
  for (const auto& [number, stream] : streams_)
    if (stream->is_full()) return true;
  return false;
}

void HttpSession::settings_changed() {
  const Json settings = conversation_->settings();
  if (settings.is_object()) version_ = mcp::version_named(settings.value("version", std::string()));
}

void HttpSession::calls_changed() {
  if (!receiving_) end_cancelled();  // while a message is received, its requests are not in work yet
}

// Requests that are neither in work nor answered were cancelled: no more is sent about them.
void HttpSession::end_cancelled() {
  if (!conversation_) return;
  std::set<std::shared_ptr<SessionStream>> ended;
  for (const auto& [id, stream] : requests_) ended.insert(stream);
  for (const auto& [id, stream] : requests_)
    if (conversation_->is_in_work(id)) ended.erase(stream);
  for (const auto& stream : ended) {
    end_requests_of(*stream);
    stream->finish_without_answer();
  }
  if (!ended.empty()) count_unsent();
}

// The newest of the finished streams stay, within limits.
void HttpSession::forget_old_streams() {
  size_t count = 0, bytes = 0;
  for (auto item = streams_.rbegin(); item != streams_.rend();) {
    const SessionStream& stream = *item->second;
    bool is_saved = !stream.is_finished();
    if (stream.is_finished() && stream.is_resumable()) {
      count++;
      bytes += stream.saved_bytes();
      is_saved = count <= limits_.finished_streams && (count == 1 || bytes <= limits_.finished_bytes);
    }
    ++item;
    if (!is_saved) item = std::make_reverse_iterator(streams_.erase(item.base()));
  }
  count_unsent();
}

// No client came back for a stream. Its requests are cancelled.
void HttpSession::lost(SessionStream& stream) {
  std::vector<mcp::RequestId> ids;
  for (const auto& [id, of] : requests_)
    if (of.get() == &stream) ids.push_back(id);
  for (const mcp::RequestId& id : ids) conversation_->cancel(id);
  end_requests_of(stream);
  streams_.erase(stream.number());
  count_unsent();
}

void HttpSession::count_unsent() {
  size_t bytes = 0;
  for (const auto& [number, stream] : streams_) bytes += stream->unsent_bytes();
  unread_.set(bytes);
}

// The user has too many unread answers, and most wait here.
void HttpSession::give_up() {
  for (const auto& [number, stream] : streams_)
    if (!stream->is_attached()) stream->drop_events();
  unread_.set(0);
}

}  // namespace streamable_http
