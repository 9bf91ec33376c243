#include "supervisor/programs/agent/model_client.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "supervisor/base/json/json.h"
#include "supervisor/base/log.h"
#include "supervisor/protocol/http/event_stream.h"

namespace agent {
namespace {

using namespace std::chrono_literals;

constexpr size_t kMaxReplyBytes = 16 << 20;
constexpr size_t kMaxEventBytes = 4 << 20;
constexpr size_t kMaxRefusalBytes = 64 << 10;
constexpr size_t kMaxShownBytes = 400;
constexpr auto kMaxPause = 60'000ms;
constexpr auto kMaxRetryAfter = 600'000ms;  // a longer Retry-After ends the run

std::string_view media_type(const http::ReplyHead& head) {
  const std::string_view type = head.header("content-type");
  return type.substr(0, type.find_first_of("; "));
}

bool is_temporary(int status) {
  return status == 408 || status == 409 || status == 425 || status == 429 || status >= 500;
}

std::string seconds_text(std::chrono::milliseconds time) {
  return fmt::format("{:g} s", static_cast<double>(time.count()) / 1000);
}

}  // namespace

std::optional<std::chrono::milliseconds> retry_after(std::string_view value) {
  const std::string text(value);
  if (text.empty()) return std::nullopt;
  char* end = nullptr;
  if (text.find_first_not_of("0123456789.") == text.npos) {
    const double seconds = std::strtod(text.c_str(), &end);
    if (*end != '\0' || seconds > 1e6) return std::nullopt;
    return std::chrono::milliseconds(static_cast<int64_t>(std::ceil(seconds * 1000)));
  }
  tm date{};
  const char* rest = ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date);
  if (!rest || *rest != '\0') return std::nullopt;
  const int64_t remaining = static_cast<int64_t>(::timegm(&date)) - static_cast<int64_t>(::time(nullptr));
  return std::chrono::seconds(std::max<int64_t>(0, remaining));
}

ModelClient::ModelClient(Loop& loop, http::HttpClient& client, const AgentSettings& settings, ProgressReporter progress)
    : loop_(loop), client_(client), settings_(settings), report_(std::move(progress)) {
  format_ = settings.provider == ModelProvider::anthropic ? anthropic_format() : openai_format();
}

Task<Result<ModelReply>> ModelClient::ask(const std::string& instructions, const std::vector<ShownTool>& tools,
                                          const std::vector<ChatMessage>& messages) {
  const std::string body = dump_json(format_->request(settings_.model, instructions, tools, messages));
  auto pause = settings_.bounds.retry_pause;
  for (unsigned retries = 0;; retries++) {
    Attempt attempt = co_await try_once(body);
    if (attempt.reply || !attempt.may_repeat) co_return std::move(attempt.reply);
    Error error = std::move(attempt.reply).error();
    if (retries >= settings_.bounds.retries) {
      if (retries > 0) error.what += fmt::format(" (asked {} times)", retries + 1);
      co_return tl::unexpected(std::move(error));
    }
    const auto wait = attempt.wait.value_or(pause);
    if (wait > kMaxRetryAfter) {
      error.what += fmt::format("; it asks to wait for {}", seconds_text(wait));
      error.hint = "resume the run later";
      co_return tl::unexpected(std::move(error));
    }
    report_(fmt::format("{}; asked again in {}", error.what, seconds_text(wait)));
    co_await sleep_for(loop_, wait);
    pause = std::min(pause * 2, std::chrono::milliseconds(kMaxPause));
  }
}

Task<ModelClient::Attempt> ModelClient::try_once(const std::string& body) {
  http::ClientRequest request;
  request.method = "POST";
  request.url = settings_.base_url + format_->path();
  request.headers = format_->headers(settings_.key);
  request.headers.emplace_back("Content-Type", "application/json");
  request.headers.emplace_back("Accept", "text/event-stream, application/json");
  request.body = body;
  request.limit = 0ms;  // the run has a bound of time
  request.max_body = kMaxReplyBytes;
  const auto exchange = client_.start(std::move(request));
  auto head = co_await exchange->head();
  Attempt attempt;
  if (!head) {
    attempt.may_repeat = head.error().code == Code::unavailable;
    attempt.reply = tl::unexpected(std::move(head).error().within("the model's server at " + settings_.base_url));
    co_return attempt;
  }
  if (head->status != 200) {
    Attempt refusal = co_await refused(*exchange, *head);
    co_return refusal;
  }
  if (media_type(*head) == "text/event-stream") {
    attempt.reply = co_await read_stream(*exchange);
  } else {
    attempt.reply = co_await read_plain(*exchange);
  }
  if (!attempt.reply) {
    attempt.may_repeat = attempt.reply.error().code == Code::unavailable;
    attempt.reply.error().what = without_key(printable(attempt.reply.error().what, kMaxShownBytes), settings_.key);
  }
  co_return attempt;
}

Task<ModelClient::Attempt> ModelClient::refused(http::Exchange& exchange, const http::ReplyHead& head) {
  std::string body;
  while (body.size() < kMaxRefusalBytes) {
    auto part = co_await exchange.read();
    if (!part || part->empty()) break;  // the status says enough
    body += *part;
  }
  const auto parsed = parse_json(body);
  const std::string reply = parsed ? error_text(*parsed) : std::string();
  const std::string text = without_key(printable(reply.empty() ? body : reply, kMaxShownBytes), settings_.key);
  Attempt attempt;
  attempt.may_repeat = is_temporary(head.status);
  attempt.wait = retry_after(head.header("retry-after"));
  std::string hint;
  Code code = attempt.may_repeat ? Code::unavailable : Code::invalid;
  if (head.status == 401 || head.status == 403) {
    code = Code::denied;
    hint = "check the key: $LLM_API_KEY, or the systemd credential llm-api-key";
  } else if (head.status == 404) {
    hint = "check --base-url, --provider and --model";
  }
  attempt.reply = fail(code, fmt::format("the model's server answers with status {}: {}", head.status, text), hint);
  co_return attempt;
}

Task<Result<ModelReply>> ModelClient::read_stream(http::Exchange& exchange) {
  const auto reader = format_->reader(
      [this](const std::string& name) { report_(fmt::format("the model writes a call of {}", printable(name, 64))); });
  http::EventStream events(kMaxEventBytes);
  for (;;) {
    auto part = co_await exchange.read();
    if (!part) {
      if (part.error().code == Code::unavailable && reader->is_whole()) co_return reader->take();
      co_return tl::unexpected(std::move(part).error().within("the model's reply"));
    }
    if (part->empty()) break;
    events.feed(*part);
    while (const auto event = events.next()) CO_CHECKED(reader->read_event(event->data));
    if (events.too_large())
      co_return fail(Code::exhausted, fmt::format("an event of the reply is larger than {} bytes", kMaxEventBytes));
  }
  if (!reader->is_whole()) co_return fail(Code::unavailable, "the model's reply broke off");
  co_return reader->take();
}

Task<Result<ModelReply>> ModelClient::read_plain(http::Exchange& exchange) {
  std::string body;
  for (;;) {
    auto part = co_await exchange.read();
    if (!part) co_return tl::unexpected(std::move(part).error().within("the model's reply"));
    if (part->empty()) break;
    body += *part;
  }
  const auto reader = format_->reader(nullptr);
  CO_CHECKED(reader->read_body(body));
  co_return reader->take();
}

}  // namespace agent
