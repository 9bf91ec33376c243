#include "supervisor/cli/relay.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "supervisor/base/json.h"

namespace cli {
namespace {

constexpr size_t kMaxCalls = 4096;          // remembered; warderd lets nobody have that many at once
constexpr size_t kMaxIdBytes = 256;         // of an id that is remembered
constexpr size_t kMaxKeptBytes = 64 << 10;  // of a request that could be sent again
constexpr size_t kMaxSettings = 256;
constexpr int kMaxSent = 2;

constexpr std::string_view kOwnIdPrefix = "\"warder-bridge-";
constexpr std::string_view kAcknowledged = "notifications/subscriptions/acknowledged";
constexpr std::string_view kToolsChanged = "notifications/tools/list_changed";
constexpr std::string_view kInterrupted =
    "the connection to warderd ended while this request ran (it was restarted or stopped); the call may have run";
constexpr std::string_view kRetry = "look at what it left behind (files in the workspace), then retry it";

// Requests that change nothing: a second one after a lost connection is not noticed by anybody.
bool harmless(std::string_view method) {
  constexpr std::array<std::string_view, 14> kHarmless = {
      "initialize",     "ping",         "server/discover", "tools/list",          "resources/list",
      "resources/read", "prompts/list", "prompts/get",     "completion/complete", "resources/templates/list",
      "skills/list",    "skills/get",   "tasks/get",       "subscriptions/listen"};
  return std::find(kHarmless.begin(), kHarmless.end(), method) != kHarmless.end();
}

std::string notification(std::string_view method, const nlohmann::json& params = nullptr) {
  nlohmann::json message = {{"jsonrpc", "2.0"}, {"method", method}};
  if (!params.is_null()) message["params"] = params;
  return dump_json(message);
}

bool wants_tools_changed(std::string_view listen) {
  const auto request = parse_json(listen);
  if (!request) return false;
  const nlohmann::json::json_pointer path("/params/notifications/toolsListChanged");
  return request->contains(path) && request->at(path) == true;
}

Era era_of(const Envelope& envelope) { return envelope.modern() ? Era::modern : Era::legacy; }

}  // namespace

void Relay::from_client(const LineReader::Line& line) {
  if (line.oversized) {
    const auto begin = scan(line.text);
    to_client_.add(refused_line(begin.id, "the request is longer than 16 MiB"));
    return;
  }
  if (link_ == Link::up) to_daemon_.add(line.text);  // whole, also what we do not understand: warderd tells why
  for_each_message(line.text, [this](std::string_view message) { message_from_client(message, scan(message)); });
}

void Relay::message_from_client(std::string_view message, const Envelope& envelope) {
  note(message, envelope);
  if (link_ == Link::up) {
    if (envelope.kind == MessageKind::request) track(message, envelope);
  } else if (link_ == Link::awaited) {
    hold(message, envelope);
  } else {
    answer_locally(message, envelope);
  }
}

void Relay::note(std::string_view message, const Envelope& envelope) {
  if (envelope.kind == MessageKind::response) asked_.erase(canonical_id(envelope.id));
  if (envelope.method == "notifications/initialized") initialized_ = true;
  if (envelope.method == "notifications/cancelled") {
    const auto id = canonical_id(envelope.request_id);
    calls_.erase(id);
    drop_held(id);
  }
  if (envelope.kind != MessageKind::request || envelope.modern() || message.size() > kMaxKeptBytes) return;
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
  if (harmless(envelope.method) && message.size() <= kMaxKeptBytes) call.line = message;
  if (envelope.method == "subscriptions/listen") call.wants_tools_changed = wants_tools_changed(message);
  calls_.insert_or_assign(canonical_id(envelope.id), std::move(call));
}

void Relay::hold(std::string_view message, const Envelope& envelope) {
  if (envelope.kind == MessageKind::response || envelope.method == "notifications/cancelled" ||
      envelope.method == "notifications/initialized")
    return;  // for a daemon that is gone, or said again by introduce()
  held_bytes_ += message.size();
  held_.push_back({std::string(message), envelope.id.empty() ? std::string() : canonical_id(envelope.id)});
}

void Relay::drop_held(std::string_view id) {
  std::erase_if(held_, [&](const Held& held) {
    if (held.id != id) return false;
    held_bytes_ -= held.line.size();
    return true;
  });
}

void Relay::answer_locally(std::string_view message, const Envelope& envelope) {
  if (envelope.kind == MessageKind::unreadable)
    return to_client_.add(refused_line(envelope.id, "not a JSON-RPC message"));
  if (envelope.kind != MessageKind::request) return;
  if (envelope.method == "subscriptions/listen" && envelope.modern()) {  // stands here until a daemon takes it over
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

bool Relay::from_daemon(const LineReader::Line& line) {
  if (line.oversized) {
    const auto begin = scan(line.text);
    const auto call = calls_.find(canonical_id(begin.id));
    if (call == calls_.end()) return false;
    to_client_.add(interrupted_answer(begin.id, call->second.method, call->second.era,
                                      "the answer is longer than 16 MiB and was dropped",
                                      "have the program print less, or write a file and read it in parts"));
    calls_.erase(call);
    return true;
  }
  bool readable = true, forward = true;
  for_each_message(line.text, [&](std::string_view message) {
    auto envelope = scan(message, Scan::head);
    if (envelope.kind == MessageKind::unreadable) {
      readable = false;
    } else if (envelope.kind == MessageKind::request) {
      if (asked_.size() < kMaxCalls) asked_.insert(canonical_id(envelope.id));
    } else if (envelope.kind == MessageKind::notification) {
      const auto subscription = calls_.find(canonical_id(envelope.subscription));
      if (envelope.method != kAcknowledged || subscription == calls_.end()) return;
      if (!std::exchange(subscription->second.acknowledged, true)) return;
      forward = false;
      announce_tools(&subscription->second);
    } else if (const auto id = canonical_id(envelope.id); own_ids_.erase(id) > 0) {
      forward = false;
      if (id.starts_with(std::string(kOwnIdPrefix) + "initialize") && initialized_) announce_tools(nullptr);
    } else if (const auto call = calls_.find(id); call != calls_.end()) {
      if (call->second.method == "initialize") greeted_ = true;
      if (call->second.method == "tools/list") {
        envelope = scan(message);
        if (envelope.result.find("\"nextCursor\"") == std::string_view::npos)
          tools_[call->second.era == Era::modern ? 1 : 0] = envelope.result;
      }
      calls_.erase(call);
    }
  });
  if (readable && forward) to_client_.add(line.text);
  return readable;
}

void Relay::connected() {
  link_ = Link::up;
  to_daemon_.add(hello_);
  introduce();
  std::vector<Call*> again;
  std::vector<std::string> poisonous;
  for (auto& [id, call] : calls_) {
    if (call.sent < kMaxSent || call.method == "subscriptions/listen") {
      again.push_back(&call);
    } else {
      to_client_.add(interrupted_answer(call.raw_id, call.method, call.era, kInterrupted, kRetry));
      poisonous.push_back(id);
    }
  }
  std::sort(again.begin(), again.end(), [](const Call* a, const Call* b) { return a->order < b->order; });
  for (Call* call : again) {
    call->sent++;
    to_daemon_.add(call->line);
  }
  for (const auto& id : poisonous) calls_.erase(id);
  held_bytes_ = 0;
  for (const Held& held : std::exchange(held_, {})) from_client({held.line});
}

void Relay::introduce() {
  if (!greeted_) return;  // not legacy, or the first initialize is itself among the calls
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
  std::string_view left = unsent;
  while (!left.empty()) {
    const size_t newline = left.find('\n');
    for_each_message(left.substr(0, newline), [this](std::string_view message) {
      const auto envelope = scan(message);
      if (envelope.kind != MessageKind::request) return;
      const auto call = calls_.find(canonical_id(envelope.id));
      if (call == calls_.end()) return;  // our own, or cancelled
      call->second.sent--;
      if (!call->second.line.empty()) return;  // connected() sends it again anyway
      hold(message, envelope);
      calls_.erase(call);
    });
    left.remove_prefix(newline == std::string_view::npos ? left.size() : newline + 1);
  }
}

void Relay::disconnected() {
  if (link_ == Link::up) link_ = Link::awaited;
  take_back_unsent();
  for (auto call = calls_.begin(); call != calls_.end();) {
    if (call->second.line.empty()) {
      to_client_.add(
          interrupted_answer(call->second.raw_id, call->second.method, call->second.era, kInterrupted, kRetry));
      call = calls_.erase(call);
    } else {
      ++call;
    }
  }
  for (const auto& id : asked_) {
    const auto raw_id = parse_json(id);
    if (raw_id)
      to_client_.add(notification("notifications/cancelled", {{"requestId", *raw_id}, {"reason", kInterrupted}}));
  }
  asked_.clear();
  own_ids_.clear();
}

void Relay::give_up(Trouble trouble) {
  link_ = Link::down;
  trouble_ = std::move(trouble);
  for (auto call = calls_.begin(); call != calls_.end();) {
    if (call->second.method == "subscriptions/listen") {
      acknowledge(call->second);
      ++call;
      continue;
    }
    const std::string line = std::move(call->second.line);
    call = calls_.erase(call);
    answer_locally(line, scan(line));
  }
  held_bytes_ = 0;
  for (const Held& held : std::exchange(held_, {})) answer_locally(held.line, scan(held.line));
}

bool Relay::takes_requests() const {
  switch (link_) {
    case Link::up:
      return !to_daemon_.full();
    case Link::awaited:
      return held_bytes_ < kHighWaterBytes;
    case Link::down:
      return !to_client_.full();
  }
  return true;
}

bool Relay::idle() const {
  if (!held_.empty() || to_daemon_.pending() > 0) return false;
  return std::all_of(calls_.begin(), calls_.end(),
                     [](const auto& entry) { return entry.second.method == "subscriptions/listen"; });
}

void Relay::acknowledge(Call& subscription) {
  if (std::exchange(subscription.acknowledged, true)) return;
  const auto request = parse_json(subscription.line);
  const auto id = parse_json(subscription.raw_id);
  if (!request || !id) return;
  nlohmann::json params = {{"_meta", {{kMetaSubscription, *id}}}, {"notifications", nlohmann::json::object()}};
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
