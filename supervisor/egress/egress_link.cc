#include "supervisor/egress/egress_link.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"
#include "supervisor/base/trimmed.h"
#include "supervisor/base/unix_socket.h"
#include "supervisor/egress/packet.h"
#include "supervisor/egress/secret_length.h"

namespace egress {
namespace {

using namespace std::chrono_literals;

constexpr auto kTotalsTime = 1s;

Result<std::string> read_secret(const std::string& file, const std::string& rule) {
  const Fd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!opened) return fail_errno(errno, fmt::format("{}: open the secret '{}'", rule, file), Code::unavailable);
  auto text = read_complete(opened.get(), kMaxSecretBytes);
  if (!text) return tl::unexpected<Error>(std::move(text).error().within(rule));
  std::string value(trimmed(*text, "\r\n"));
  if (value.size() < kMinSecretBytes || value.find_first_of(std::string_view("\r\n\0", 3)) != value.npos)
    return fail(Code::unavailable, fmt::format("{}: the secret in '{}' is not one line of at least {} bytes", rule,
                                               file, kMinSecretBytes));
  return value;
}

}  // namespace

EgressUse::EgressUse(EgressLink& link, Host& host, uint64_t number)
    : link_(link), host_(host), number_(number), asking_(link.loop_) {
  link_.uses_.emplace(number_, this);
}

EgressUse::~EgressUse() {
  asking_.cancel_all();
  link_.uses_.erase(number_);
  if (!is_closed_) link_.send({{"order", "close"}, {"jail", number_}});
}

Task<std::optional<EgressTotals>> EgressUse::finish() {
  asking_.cancel_all();
  if (std::exchange(is_closed_, true) || !link_.is_connected()) co_return std::nullopt;
  OneShot<std::optional<EgressTotals>> totals(link_.loop_);
  finished_ = totals.resolver();
  link_.send({{"order", "close"}, {"jail", number_}});
  const Deadline limit(link_.loop_, kTotalsTime, [this] { finished_.reset(); });
  co_return co_await totals;
}

void EgressUse::take_event(const Json& event) {
  const std::string kind = event.value("event", "");
  if (kind == "closed") {
    const auto totals = read_totals(event);
    if (totals) {
      link_.counts_.bytes_up += totals->bytes_up;
      link_.counts_.bytes_down += totals->bytes_down;
      if (finished_) finished_->resolve(*totals);
    }
    finished_.reset();
    return;
  }
  auto entry = read_entry(event);
  if (!entry) return log_warning("warder-egress: {}", entry.error().what);
  if (kind == "request") {
    EgressLink::Counts& counts = link_.counts_;
    (entry->verdict == "allowed" ? counts.allowed : entry->verdict == "denied" ? counts.denied : counts.failed)++;
    host_.note(*entry);
  } else if (kind == "ask") {
    const auto question = event.find("question");
    if (question != event.end() && question->is_number_unsigned())
      asking_.spawn(ask(question->get<uint64_t>(), *std::move(entry)));
  }
}

Task<> EgressUse::ask(uint64_t question, EgressEntry entry) {
  const bool is_allowed = co_await host_.ask(std::move(entry));
  link_.send({{"order", "decide"}, {"question", question}, {"allow", is_allowed}});
}

EgressLink::EgressLink(Loop& loop, std::string socket, WorkerThread& disk)
    : loop_(loop), path_(std::move(socket)), disk_(disk), tasks_(loop) {}

Result<> EgressLink::connect() {
  if (socket_) return {};
  if (path_.empty()) return fail(Code::unavailable, "this daemon has no socket of warder-egress", "set egress_socket");
  auto created = connect_unix(path_, SOCK_SEQPACKET);
  if (!created) {
    Error error = std::move(created).error().within("warder-egress");
    if (error.err == ENOENT)
      error.what += "; if the package warder-egress is missing, the administrator can install it";
    return tl::unexpected<Error>(std::move(error));
  }
  TRY(AsyncFd watched, AsyncFd::adopt(loop_, *std::move(created)));
  socket_ = std::make_shared<AsyncFd>(std::move(watched));
  tasks_.spawn(read_events());
  return {};
}

Task<> EgressLink::read_events() {
  const std::shared_ptr<AsyncFd> socket = socket_;
  for (;;) {
    auto packet = co_await receive_packet(*socket);
    if (!packet) {
      lose(packet.error().what);
      co_return;
    }
    const auto number = packet->body.find("jail");
    if (number == packet->body.end() || !number->is_number_unsigned()) continue;
    const auto use = uses_.find(number->get<uint64_t>());
    if (use != uses_.end()) use->second->take_event(packet->body);
    co_await next_turn(loop_);  // one tenant's requests must not hold the loop
  }
}

void EgressLink::lose(const std::string& why) {
  log_warning("warder-egress has gone: {}", why);
  socket_.reset();
  queued_.clear();
  for (const auto& [number, use] : uses_) {
    use->asking_.cancel_all();
    use->finished_.reset();
    use->is_closed_ = true;
    use->host_.lost();
  }
}

void EgressLink::send(Json order, Fd descriptor) {
  if (!socket_) return;
  queued_.push_back({std::move(order), std::move(descriptor)});
  if (!is_sending_) tasks_.spawn(send_queued());
}

// In their order. While the service does not read, they wait: at most some for each running program.
Task<> EgressLink::send_queued() {
  is_sending_ = true;
  while (socket_ && !queued_.empty()) {
    const std::shared_ptr<AsyncFd> socket = socket_;
    Queued next = std::move(queued_.front());
    queued_.pop_front();
    const auto sent = co_await send_packet(*socket, std::move(next.order), next.descriptor.get());
    if (!sent) ::shutdown(socket->get(), SHUT_RDWR);  // read_events() sees it
  }
  is_sending_ = false;
}

Task<Result<Secrets>> EgressLink::read_secrets(const policies::EgressRules& rules) {
  auto secrets = std::make_shared<Secrets>(rules.rules.size());
  if (std::none_of(rules.rules.begin(), rules.rules.end(), [](const auto& rule) { return rule.secret.has_value(); }))
    co_return *secrets;
  auto requested = std::make_shared<const policies::EgressRules>(rules);
  const WorkerThread::Job job = [secrets, requested]() -> Result<> {
    for (size_t i = 0; i < requested->rules.size(); i++) {
      if (!requested->rules[i].secret) continue;
      TRY((*secrets)[i], read_secret(requested->rules[i].secret->file, requested->rule_name(i)));
    }
    return {};
  };
  CO_CHECKED(co_await disk_.run(job));
  size_t bytes = 0;
  for (const std::string& secret : *secrets) bytes += secret.size();
  if (bytes > kMaxSecretBytes)
    co_return fail(Code::unavailable, "the secrets of the policy's egress are too long together");
  co_return std::move(*secrets);
}

Result<std::unique_ptr<EgressUse>> EgressLink::open(int listener, const policies::EgressRules& rules,
                                                    const Secrets& secrets, EgressUse::Host& host) {
  CHECKED(connect());
  auto use = std::make_unique<EgressUse>(*this, host, ++last_number_);
  Fd handed(::fcntl(listener, F_DUPFD_CLOEXEC, 3));
  if (!handed) return fail_errno(errno, "hand over a listener", Code::exhausted);
  Json order{{"order", "open"}, {"jail", last_number_}, {"egress", policies::egress_rules_json(rules)}};
  order["secrets"] = secrets;
  send(std::move(order), std::move(handed));
  return use;
}

}  // namespace egress
