#include "supervisor/records/traces/delivery.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/random.h"

namespace traces {
namespace {

using namespace std::chrono_literals;

constexpr int kRetryable[] = {429, 502, 503, 504};  // OTLP forbids retries after other statuses
constexpr int64_t kMaxPause = 300;                  // seconds; bounds the pause of the reply

// Reads Retry-After in seconds. Its other form, a date, counts as absent: back_off() applies.
std::chrono::milliseconds retry_after(std::string_view header) {
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(header.data(), header.data() + header.size(), seconds);
  const bool number = !header.empty() && end == header.data() + header.size() && header.front() != '-';
  if (!number || (error != std::errc() && error != std::errc::result_out_of_range)) return -1ms;
  if (error == std::errc::result_out_of_range) seconds = kMaxPause;
  return std::chrono::seconds(std::min(seconds, kMaxPause));
}

// Reads {"partialSuccess": {"rejectedSpans": "3"}}; the count may also be a number.
size_t rejected_in(const std::string& body, size_t spans) {
  const auto answer = parse_json(body);
  if (!answer || !answer->is_object()) return 0;
  const auto partial = answer->find("partialSuccess");
  if (partial == answer->end() || !partial->is_object()) return 0;
  const auto rejected = partial->find("rejectedSpans");
  if (rejected == partial->end()) return 0;
  uint64_t count = 0;
  if (rejected->is_number_unsigned()) count = rejected->get<uint64_t>();
  if (rejected->is_string()) {
    const auto& text = rejected->get_ref<const std::string&>();
    std::from_chars(text.data(), text.data() + text.size(), count);
  }
  return static_cast<size_t>(std::min<uint64_t>(count, spans));
}

}  // namespace

Judgement judge(const Result<http::HttpReply>& reply, size_t spans) {
  using Verdict = Judgement::Verdict;
  if (!reply) {
    const Error& error = reply.error();
    // The reply was too large or invalid, and would be again: no retry.
    const bool flood = error.code == Code::exhausted || error.code == Code::invalid;
    return {flood ? Verdict::refused : Verdict::again, 0, -1ms,
            error.what + (error.hint.empty() ? "" : "; " + error.hint)};
  }
  const int status = reply->head.status;
  const std::string why = fmt::format("HTTP status {}", status);
  if (status >= 200 && status < 300) {
    const size_t rejected = rejected_in(reply->body, spans);
    return {Verdict::accepted, rejected, -1ms, rejected > 0 ? "it rejects some spans" : ""};
  }
  if (std::find(std::begin(kRetryable), std::end(kRetryable), status) == std::end(kRetryable))
    return {Verdict::refused, 0, -1ms, why};
  return {Verdict::again, 0, retry_after(reply->head.header("retry-after")), why};
}

std::chrono::milliseconds back_off(unsigned failures) {
  constexpr int64_t kFirst = 1000, kMax = 32'000;
  const int64_t full = std::min(kFirst << std::min(failures - 1, 8U), kMax);
  const int64_t chance = std::stoll(random_hex(2), nullptr, 16);  // of 65,536
  return std::chrono::milliseconds(full / 2 + full / 2 * chance / 65'536);
}

}  // namespace traces
