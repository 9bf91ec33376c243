#include "supervisor/records/traces/exporter.h"

#include <unistd.h>

#include <utility>

#include "supervisor/base/log.h"
#include "supervisor/base/version.h"
#include "supervisor/records/traces/delivery.h"
#include "supervisor/records/traces/encoding.h"

namespace traces {
namespace {

using namespace std::chrono_literals;

constexpr auto kEvery = 1s;
constexpr auto kBetweenLines = 60s;  // between two lines of the log
constexpr auto kConnect = 3s, kLimit = 10s;
constexpr unsigned kMaxTries = 8;  // some two minutes; a batch that crashes the collector must not block others
constexpr size_t kMaxHead = 16 << 10, kMaxBody = 64 << 10;

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace

Exporter::Exporter(Loop& loop, spans::Collector collector)
    : loop_(loop), collector_(std::move(collector)), host_(host_name()), tasks_(loop) {
  queue_.added = [this] { added(); };
}

// The caller is in the middle of an answer, so the work is done in a later turn of the loop.
void Exporter::added() {
  if (over_) queue_.counts.dropped += queue_.take(1).size();
  if (queue_.counts.dropped > reported_) complain();
  if (over_) return;
  if (gathering_ && queue_.size() >= kBatch) wake();
  if (!std::exchange(running_, true)) tasks_.spawn(run());
}

Task<> Exporter::run() {
  co_await next_turn(loop_);
  while (queue_.size() > 0) {
    gathering_ = true;
    if (queue_.size() < kBatch && !hurries_) co_await pause(kEvery);
    gathering_ = false;
    std::vector<spans::Span> batch = queue_.take(kBatch);
    in_flight_ = batch.size();
    co_await deliver(std::move(batch));
    in_flight_ = 0;
  }
  running_ = false;
  finishing_.resolve();
}

Task<> Exporter::deliver(std::vector<spans::Span> batch) {
  const size_t spans = batch.size();
  const http::ClientRequest request = request_of(batch);
  batch = {};
  for (unsigned tries = 1;; tries++) {
    http::ClientRequest once = request;
    const auto reply = co_await post(std::move(once));
    const Judgement judged = judge(reply, spans);
    const bool recovered = !trouble_.empty() && judged.why.empty();
    trouble_ = judged.why;
    if (judged.verdict == Judgement::Verdict::accepted) {
      queue_.counts.exported += spans - judged.rejected;
      if (judged.rejected > 0) lose(judged.rejected);
      if (recovered) log_debug("traces: {} accepts spans again", collector_.displayed);
      co_return;
    }
    if (judged.verdict == Judgement::Verdict::refused || hurries_ || tries == kMaxTries) {
      lose(spans);
      co_return;
    }
    complain();
    auto max = judged.pause;
    if (max.count() < 0) max = back_off(tries);
    co_await pause(max);
  }
}

Task<Result<http::HttpReply>> Exporter::post(http::ClientRequest request) {
  if (!client_) {
    CO_TRY(client_, http::HttpClient::open(loop_));
  }
  auto reply = co_await client_->fetch(std::move(request));
  co_return reply;
}

http::ClientRequest Exporter::request_of(const std::vector<spans::Span>& batch) const {
  http::ClientRequest request;
  request.method = "POST";
  request.url = collector_.url;
  request.socket = collector_.socket;
  request.authorities = collector_.authorities;
  request.headers = collector_.headers;
  request.headers.emplace_back("Content-Type", "application/json");
  request.headers.emplace_back("User-Agent", std::string("warderd/") + kWarderVersion);
  request.body = encode(batch, host_);
  request.connect = kConnect;
  request.limit = kLimit;
  request.max_head = kMaxHead;
  request.max_body = kMaxBody;
  return request;
}

// Waits for that time, or until wake().
Task<> Exporter::pause(std::chrono::milliseconds max) {
  OneShot<> over(loop_);
  pausing_ = over.resolver();
  const Deadline late(loop_, max, [end = over.resolver()] { end.resolve_now(); });
  co_await over;
}

void Exporter::wake() { pausing_.resolve(); }

void Exporter::lose(size_t spans) {
  queue_.counts.dropped += spans;
  complain();
}

void Exporter::complain() {
  has_more_to_say_ = true;
  if (!quiet_) say();
}

void Exporter::say() {
  has_more_to_say_ = false;
  const uint64_t lost = queue_.counts.dropped - std::exchange(reported_, queue_.counts.dropped);
  const std::string why = trouble_.empty() ? "there are more spans than the collector accepts" : trouble_;
  if (lost == 0) {
    log_warning("traces: {}: {}; the daemon tries again", collector_.displayed, why);
  } else {
    log_warning("traces: {}: {}; {} spans were dropped, {} in all", collector_.displayed, why, lost,
                queue_.counts.dropped);
  }
  quiet_.emplace(loop_, kBetweenLines, [this] {
    quiet_.reset();
    if (has_more_to_say_) say();
  });
}

Task<> Exporter::finish(std::chrono::milliseconds limit) {
  hurries_ = true;
  wake();
  if (running_) {
    OneShot<> over(loop_);
    finishing_ = over.resolver();
    const Deadline late(loop_, limit, [end = over.resolver()] { end.resolve_now(); });
    co_await over;
  }
  over_ = true;
  tasks_.cancel_all();
  const size_t remaining = in_flight_ + queue_.take(queue_.size()).size();
  queue_.counts.dropped += remaining;
  if (queue_.counts.dropped > reported_) say();
}

}  // namespace traces
