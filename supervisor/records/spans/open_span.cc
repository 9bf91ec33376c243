#include "supervisor/records/spans/open_span.h"

#include <fmt/format.h>

#include "supervisor/base/random.h"

namespace spans {
namespace {

constexpr size_t kMaxText = 256;
constexpr int kSampled = 1, kRandom = 2;  // flags of the W3C traceparent: recorded; random trace id

int64_t now_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

// A random id; an id of zeros is invalid.
std::string make_id(size_t bytes) {
  std::string id = random_hex(bytes);
  while (id.find_first_not_of('0') == id.npos) id = random_hex(bytes);
  return id;
}

}  // namespace

OpenSpan::OpenSpan(Queue* queue, const TraceContext& parent, SpanKind kind, std::string_view name)
    : queue_(queue), context_(parent) {
  if (!parent.empty() && !parent.parent.sampled()) queue_ = nullptr;
  if (!queue_) return;
  const bool first = parent.empty();
  span_.trace_id = first ? make_id(16) : parent.parent.trace_id();
  span_.id = make_id(8);
  if (!first) span_.parent_id = parent.parent.span_id();
  span_.state = parent.state;
  span_.name = name;
  span_.kind = kind;
  // Unknown flags must not be passed on.
  const int flags = first ? kSampled : std::stoi(parent.parent.flags(), nullptr, 16) & (kSampled | kRandom);
  context_.parent.text = fmt::format("00-{}-{}-{:02x}", span_.trace_id, span_.id, flags);
  span_.started_ns = now_ns();
  started_ = Monotonic::now();
}

OpenSpan::~OpenSpan() {
  if (!queue_) return;
  // The duration comes from the monotonic clock: the wall clock may be set back meanwhile.
  span_.ended_ns = span_.started_ns + std::chrono::nanoseconds(Monotonic::now() - started_).count();
  queue_->add(std::move(span_));
}

void OpenSpan::set(std::string_view key, Value value) {
  if (!queue_) return;
  if (auto* text = std::get_if<std::string>(&value); text && text->size() > kMaxText) text->resize(kMaxText);
  span_.attributes.emplace_back(key, std::move(value));
}

void OpenSpan::rename(std::string_view name) {
  if (queue_) span_.name = name.substr(0, kMaxText);
}

void OpenSpan::fail(std::string_view why) {
  if (!queue_) return;
  span_.error = why;
  set("error.type", span_.error);
}

}  // namespace spans
