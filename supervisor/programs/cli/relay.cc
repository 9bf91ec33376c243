#include "supervisor/programs/cli/relay.h"

#include <algorithm>
#include <array>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace cli {
namespace {

constexpr size_t kMaxCalls = 4096;              // remembered; warderd allows no client so many calls at once
constexpr size_t kMaxIdBytes = 256;             // of an id that is remembered
constexpr size_t kMaxSavedCallBytes = 1 << 20;  // of one request that may be sent again
constexpr size_t kMaxSavedBytes = 8 << 20;      // of all requests that may be sent again
constexpr size_t kMaxSettings = 256;
constexpr int kMaxSent = 2;

constexpr std::string_view kOwnIdPrefix = "\"warder-proxy-";
constexpr std::string_view kAcknowledged = "notifications/subscriptions/acknowledged";
constexpr std::string_view kToolsChanged = "notifications/tools/list_changed";
constexpr std::string_view kInterrupted =
    "the connection to warderd ended while this request ran (it was restarted or stopped); the call may have run";
constexpr std::string_view kRetry = "check the effects of the call (files in the workspace), then call again";

constexpr std::string_view kTwice =
    "the connection to warderd ended twice while it answered this request, which has no effects";
constexpr std::string_view kAskLess = "send the request again later, or ask for less data";
constexpr std::string_view kRefused = "warderd refused the connection";
constexpr std::string_view kNotRun = "org.warder/not-run";  // of mcp/protocol.h
constexpr size_t kMaxNotRunBytes = 16 << 10;

// Why the daemon did not run a request, and the daemon's words about it.
struct NotRun {
  std::string why;
  Trouble trouble;
};
// nullopt: the request of this answer may have run.
std::optional<NotRun> read_not_run(std::string_view answer) {
  if (answer.size() > kMaxNotRunBytes || answer.find(kNotRun) == answer.npos) return {};
  const auto parsed = parse_json(answer);
  if (!parsed || !parsed->is_object()) return {};
  const auto text = [](const Json& object, std::string_view key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const Json error = parsed->value("error", Json()), result = parsed->value("result", Json());
  const Json data = error.is_object() ? error.value("data", Json()) : Json();
  const Json meta = result.is_object() ? result.value("_meta", Json()) : Json();
  NotRun not_run{text(data, kNotRun), {text(error, "message"), text(data, "remedy"), std::string(kRefused)}};
  if (not_run.why.empty()) not_run.why = text(meta, kNotRun);
  if (not_run.why.empty()) return {};
  return not_run;
}

std::string notification(std::string_view method, const Json& params = nullptr) {
  Json message = {{"jsonrpc", "2.0"}, {"method", method}};
  if (!params.is_null()) message["params"] = params;
  return dump_json(message);
}

bool wants_tools_changed(std::string_view listen) {
  const auto request = parse_json(listen);
  if (!request) return false;
  const Json::json_pointer path("/params/notifications/toolsListChanged");
  return request->contains(path) && request->at(path) == true;
}

bool is_call(const Envelope& envelope) {
  return envelope.kind == MessageKind::request && envelope.method == "tools/call";
}

ProtocolEra era_of(const Envelope& envelope) { return envelope.modern() ? ProtocolEra::modern : ProtocolEra::legacy; }

}  // namespace

Relay::Repeats Relay::repeats_of(std::string_view method) {
  constexpr std::array<std::string_view, 9> kAlways = {
      "initialize",   "ping",        "server/discover",          "tools/list",          "resources/list",
      "prompts/list", "skills/list", "resources/templates/list", "subscriptions/listen"};
  constexpr std::array<std::string_view, 5> kOnce = {"resources/read", "prompts/get", "completion/complete",
                                                     "skills/get", "tasks/get"};
  if (std::find(kAlways.begin(), kAlways.end(), method) != kAlways.end()) return Repeats::always;
  return std::find(kOnce.begin(), kOnce.end(), method) != kOnce.end() ? Repeats::once : Repeats::never;
}

void Relay::from_client(const LineSplitter::Item& line) {
  if (line.kind == LineSplitter::Kind::too_long) {
    if (line.found && line.found->kind != EnvelopeScan::Kind::request) return;
    const std::string id = line.found ? line.found->raw_id : std::string();
    to_client_.add(refused_line(id, "the request is longer than 16 MiB"));
    return;
  }
  if (link_ == DaemonLink::up && draining_) {
    if (const auto envelope = scan(line.text); is_call(envelope)) return queue(line.text, envelope);
  }
  if (link_ == DaemonLink::up) to_daemon_.add(line.text);  // also an unreadable line: warderd answers with the reason
  for_each_message(line.text, [this](std::string_view message) { message_from_client(message, scan(message)); });
}

void Relay::message_from_client(std::string_view message, const Envelope& envelope) {
  note(message, envelope);
  if (link_ == DaemonLink::up) {
    if (envelope.kind == MessageKind::request) track(message, envelope);
  } else if (link_ == DaemonLink::awaited) {
    queue(message, envelope);
  } else {
    answer_locally(message, envelope);
  }
}

void Relay::note(std::string_view message, const Envelope& envelope) {
  if (envelope.kind == MessageKind::response) client_requests_.erase(canonical_id(envelope.id));
  if (envelope.method == "notifications/initialized") initialized_ = true;
  if (envelope.method == "notifications/cancelled") {
    const auto id = canonical_id(envelope.request_id);
    if (const auto call = calls_.find(id); call != calls_.end()) forget(call);
    drop_held(id);
  }
  if (envelope.kind != MessageKind::request || envelope.modern() || message.size() > kMaxSavedCallBytes) return;
  if (envelope.method == "initialize") {
    initialize_ = message;
    greeted_ = initialized_ = false;
    settings_.clear();
  } else if (envelope.method == "logging/setLevel") {
    settings_["level"] = message;
  } else if (envelope.method == "resources/subscribe" && settings_.size() < kMaxSettings) {
    settings_["subscribe " + std::string(envelope.uri)] = message;
  } else if (envelope.method == "resources/unsubscribe") {
    settings_.erase("subscribe " + std::string(envelope.uri));
  }
}

void Relay::track(std::string_view message, const Envelope& envelope) {
  if (calls_.size() >= kMaxCalls || envelope.id.size() > kMaxIdBytes) return;
  Call call;
  call.order = ++counter_;
  call.raw_id = envelope.id;
  call.method = envelope.method.substr(0, kMaxIdBytes);
  call.era = era_of(envelope);
  call.sent = 1;
  call.repeats = repeats_of(envelope.method);
  const auto id = canonical_id(envelope.id);
  if (const auto other = calls_.find(id); other != calls_.end()) forget(other);
  if (message.size() <= kMaxSavedCallBytes && saved_bytes_ + message.size() <= kMaxSavedBytes) call.line = message;
  if (envelope.method == "subscriptions/listen") call.wants_tools_changed = wants_tools_changed(message);
  saved_bytes_ += call.line.size();
  calls_.emplace(id, std::move(call));
}

void Relay::forget(std::map<std::string, Call, std::less<>>::iterator call) {
  saved_bytes_ -= call->second.line.size();
  calls_.erase(call);
}

void Relay::queue(std::string_view message, const Envelope& envelope) {
  if (envelope.kind == MessageKind::response || envelope.method == "notifications/cancelled" ||
      envelope.method == "notifications/initialized")
    return;  // was for the last daemon, or is sent again by introduce()
  held_bytes_ += message.size();
  queued_.push_back({std::string(message), envelope.id.empty() ? std::string() : canonical_id(envelope.id)});
}

void Relay::drop_held(std::string_view id) {
  std::erase_if(queued_, [&](const HeldMessage& message) {
    if (message.id != id) return false;
    held_bytes_ -= message.line.size();
    return true;
  });
}

void Relay::answer_locally(std::string_view message, const Envelope& envelope) {
  if (envelope.kind == MessageKind::unreadable)
    return to_client_.add(refused_line(envelope.id, "not a JSON-RPC message"));
  if (envelope.kind != MessageKind::request) return;
  if (envelope.method == "subscriptions/listen" && envelope.modern()) {  // acknowledged here, sent by connected()
    track(message, envelope);
    if (auto call = calls_.find(canonical_id(envelope.id)); call != calls_.end() && !call->second.line.empty()) {
      call->second.sent = 0;
      acknowledge(call->second);
      return;
    }
  }
  const bool modern = envelope.modern();
  to_client_.add(offline_answer(envelope, trouble_, tools_[modern ? 1 : 0]));
  if (envelope.method == "initialize" && !modern) greeted_ = true;
}

// True: the answer says that its request did not run, and need not reach the client, because the relay sends the
// request again on another connection.
bool Relay::is_saved(std::string_view message, const Envelope& envelope) {
  auto not_run = read_not_run(message);
  if (!not_run) return false;
  const auto id = canonical_id(envelope.id);
  const auto call = calls_.find(id);
  if (not_run->why == "refused") {
    refusal_ = std::move(not_run->trouble);
    own_ids_.erase(id);
    return envelope.id.empty() || call == calls_.end() || !call->second.line.empty();
  }
  if (call == calls_.end() || call->second.line.empty()) return false;
  draining_ = true;
  if (call->second.method == "subscriptions/listen") return true;  // connected() sends it again
  const std::string line = call->second.line;
  forget(call);
  queue(line, scan(line));
  return true;
}

bool Relay::from_daemon(const LineSplitter::Item& line) {
  if (line.kind == LineSplitter::Kind::too_long) {
    const std::string raw_id = line.found ? line.found->raw_id : std::string();
    const auto call = calls_.find(canonical_id(raw_id));
    if (call == calls_.end()) return false;
    to_client_.add(interrupted_answer(raw_id, call->second.method, call->second.era,
                                      "the answer is longer than 16 MiB and was dropped",
                                      "let the program print less, or write a file and read it in parts"));
    forget(call);
    return true;
  }
  bool readable = true, forward = true;
  for_each_message(line.text, [&](std::string_view message) {
    auto envelope = scan(message, Scan::head);
    const bool alone = message.size() == line.text.size();
    const bool answers = envelope.kind == MessageKind::response;
    if (envelope.kind == MessageKind::unreadable) {
      readable = false;
    } else if (envelope.kind == MessageKind::request) {
      if (client_requests_.size() < kMaxCalls) client_requests_.insert(canonical_id(envelope.id));
    } else if (envelope.kind == MessageKind::notification) {
      const auto subscription = calls_.find(canonical_id(envelope.subscription));
      if (envelope.method != kAcknowledged || subscription == calls_.end()) return;
      if (!std::exchange(subscription->second.acknowledged, true)) return;
      forward = false;
      announce_tools(&subscription->second);
    } else if (answers && alone && is_saved(message, envelope)) {
      forward = false;
    } else if (const auto id = canonical_id(envelope.id); own_ids_.erase(id) > 0) {
      forward = false;
      if (id.starts_with(std::string(kOwnIdPrefix) + "initialize") && initialized_) announce_tools(nullptr);
    } else if (const auto call = calls_.find(id); call != calls_.end()) {
      if (call->second.method == "initialize") greeted_ = true;
      if (call->second.method == "tools/list") {
        envelope = scan(message);
        if (envelope.result.find("\"nextCursor\"") == std::string_view::npos)
          tools_[call->second.era == ProtocolEra::modern ? 1 : 0] = envelope.result;
      }
      forget(call);
    }
  });
  if (readable && forward) to_client_.add(line.text);
  return readable;
}

void Relay::connected() {
  link_ = DaemonLink::up;
  draining_ = false;
  refusal_.reset();
  to_daemon_.add(hello_);
  introduce();
  std::vector<Call*> calls;
  std::vector<std::string> poisonous;
  for (auto& [id, call] : calls_) {
    if (call.sent < kMaxSent || call.repeats == Repeats::always) {
      calls.push_back(&call);
    } else {
      to_client_.add(interrupted_answer(call.raw_id, call.method, call.era, kTwice, kAskLess));
      poisonous.push_back(id);
    }
  }
  std::sort(calls.begin(), calls.end(), [](const Call* a, const Call* b) { return a->order < b->order; });
  for (Call* call : calls) {
    call->sent++;
    to_daemon_.add(call->line);
  }
  for (const auto& id : poisonous) forget(calls_.find(id));
  held_bytes_ = 0;
  for (const HeldMessage& message : std::exchange(queued_, {}))
    from_client({LineSplitter::Kind::line, message.line, {}});
}

void Relay::introduce() {
  if (!greeted_) return;  // a modern client, or the first initialize is still in calls_
  std::vector<std::pair<std::string_view, const std::string*>> requests = {{"initialize", &initialize_}};
  for (const auto& [key, line] : settings_) requests.emplace_back("setting", &line);
  for (const auto& [name, line] : requests) {
    const std::string id = std::string(kOwnIdPrefix) + std::string(name) + "-" + std::to_string(++counter_) + "\"";
    own_ids_.insert(id);
    to_daemon_.add(with_id(*line, scan(*line), id));
    if (name == "initialize" && initialized_) to_daemon_.add(notification("notifications/initialized"));
  }
}

void Relay::take_back_unsent() {
  const std::string unsent = to_daemon_.take_unsent();
  std::string_view remaining = unsent;
  while (!remaining.empty()) {
    const size_t newline = remaining.find('\n');
    for_each_message(remaining.substr(0, newline), [this](std::string_view message) {
      const auto envelope = scan(message);
      if (envelope.kind != MessageKind::request) return;
      const auto call = calls_.find(canonical_id(envelope.id));
      if (call == calls_.end()) return;  // sent by the relay itself, or cancelled
      call->second.sent--;
      // connected() sends it again anyway.
      if (!call->second.line.empty() && call->second.repeats != Repeats::never) return;
      queue(message, envelope);
      forget(call);
    });
    remaining.remove_prefix(newline == std::string_view::npos ? remaining.size() : newline + 1);
  }
}

void Relay::disconnected() {
  if (link_ == DaemonLink::up) link_ = DaemonLink::awaited;
  take_back_unsent();
  for (auto next = calls_.begin(); next != calls_.end();) {
    const auto call = next++;
    Call& lost = call->second;
    const bool retry = !lost.line.empty() && (refusal_ || lost.repeats != Repeats::never);
    if (refusal_) lost.sent = 0;  // the daemon did not process it
    if (retry) continue;
    const std::string refused = refusal_ ? refusal_->state + ", the call did not run: " + refusal_->cause : "";
    to_client_.add(interrupted_answer(lost.raw_id, lost.method, lost.era, refusal_ ? refused : kInterrupted,
                                      refusal_ ? refusal_->remedy : kRetry, refusal_ ? CallRan::no : CallRan::maybe));
    forget(call);
  }
  for (const auto& id : client_requests_) {
    const auto raw_id = parse_json(id);
    if (raw_id)
      to_client_.add(notification("notifications/cancelled", {{"requestId", *raw_id}, {"reason", kInterrupted}}));
  }
  client_requests_.clear();
  own_ids_.clear();
}

void Relay::give_up(Trouble trouble) {
  link_ = DaemonLink::down;
  trouble_ = std::move(trouble);
  for (auto next = calls_.begin(); next != calls_.end();) {
    const auto call = next++;
    if (call->second.method == "subscriptions/listen") {
      acknowledge(call->second);
      continue;
    }
    const std::string line = call->second.line;
    forget(call);
    answer_locally(line, scan(line));
  }
  drop_queued(trouble_);
}

void Relay::drop_queued(Trouble trouble) {
  trouble_ = std::move(trouble);
  held_bytes_ = 0;
  for (const HeldMessage& message : std::exchange(queued_, {})) answer_locally(message.line, scan(message.line));
}

bool Relay::takes_requests() const {
  switch (link_) {
    case DaemonLink::up:
      return !to_daemon_.full() && held_bytes_ < kHighWaterBytes;
    case DaemonLink::awaited:
      return held_bytes_ < kHighWaterBytes;
    case DaemonLink::down:
      return !to_client_.full();
  }
  return true;
}

bool Relay::idle() const {
  if (!queued_.empty() || to_daemon_.pending() > 0) return false;
  return std::all_of(calls_.begin(), calls_.end(),
                     [](const auto& entry) { return entry.second.method == "subscriptions/listen"; });
}

void Relay::acknowledge(Call& subscription) {
  if (std::exchange(subscription.acknowledged, true)) return;
  const auto request = parse_json(subscription.line);
  const auto id = parse_json(subscription.raw_id);
  if (!request || !id) return;
  Json params = {{"_meta", {{kMetaSubscription, *id}}}, {"notifications", Json::object()}};
  if (subscription.wants_tools_changed) params["notifications"]["toolsListChanged"] = true;
  to_client_.add(notification(kAcknowledged, params));
}

void Relay::announce_tools(const Call* subscription) {
  if (!subscription) return to_client_.add(notification(kToolsChanged));
  const auto id = parse_json(subscription->raw_id);
  if (!subscription->wants_tools_changed || !id) return;
  to_client_.add(notification(kToolsChanged, {{"_meta", {{kMetaSubscription, *id}}}}));
}

}  // namespace cli
