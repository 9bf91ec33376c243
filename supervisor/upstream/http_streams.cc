// The part of HttpTransport that reads event streams: the reply to a POST, resumed where it breaks off, and the GET
// stream of messages that answer no request.
#include <fmt/format.h>

#include <algorithm>

#include "supervisor/upstream/http_post.h"

namespace upstream {
namespace {

using namespace std::chrono_literals;

constexpr size_t kMaxReserved = 2 * kMaxMessage;  // bytes of all replies together
constexpr auto kMaxListenPause = 60s;             // between two GET streams that belong to no request

}  // namespace

Result<> HttpTransport::reserve(size_t& used, size_t now) {
  received_bytes_ += now - used;
  used = now;
  if (received_bytes_ > kMaxReserved)
    return fail(Code::exhausted, fmt::format("its answers together are larger than {} MB", kMaxReserved >> 20),
                "ask for less data in one call");
  return {};
}

Task<HttpTransport::StreamEnd> HttpTransport::read_stream(http::Exchange& exchange, std::optional<int64_t> of,
                                                          size_t& used, Resumption& resumption) {
  http::EventStream events(kMaxMessage);
  size_t unfinished = 0;
  for (;;) {
    auto part = co_await exchange.read();
    if (!part) co_return StreamEnd{std::move(part).error(), false};
    if (part->empty()) co_return StreamEnd{};
    received_ += part->size();
    events.feed(*part);
    unfinished += part->size();
    while (auto event = events.next()) {
      unfinished = 0;
      if (event->type != "message") continue;
      auto full = std::make_shared<const std::string>(std::move(event->data));
      const MessageText text{*full, {full, full->data()}};
      co_await listener_.message(text, of);
      resumption.note(events);  // after each event: the next one may break the stream off
    }
    resumption.note(events);
    if (const size_t noise = events.take_noise(); noise > 0) listener_.noise(noise);
    if (events.too_large()) {
      listener_.too_long();
      Error why{Code::unavailable, 0, fmt::format("more than {} MB at once", kMaxMessage >> 20), "", ""};
      co_return StreamEnd{std::move(why), true};
    }
    auto room = reserve(used, unfinished);
    if (!room) co_return StreamEnd{std::move(room).error(), true};
    co_await next_turn(loop_);  // other tasks first, however much the server sends
  }
}

Task<> HttpTransport::take_stream(std::unique_ptr<http::Exchange> exchange, const Message& message, Post& post) {
  Resumption resumption;
  for (;;) {
    StreamEnd end;
    if (exchange) end = co_await read_stream(*exchange, message.id, post.reserved, resumption);
    exchange.reset();
    (void)reserve(post.reserved, 0);
    if (post.is_answered || !message.id) co_return;
    Error why{Code::unavailable, 0, "ended its reply without an answer", "", ""};
    if (end.why) why = std::move(*end.why).within("did not finish its reply");
    const bool can_resume = !end.is_lost && version_ != kModern && resumption.is_possible();
    const auto pause = can_resume ? resumption.next_pause() : std::nullopt;
    if (!pause) {
      if (resumption.attempts() > 0) why.what += fmt::format(" ({} attempts to resume it)", resumption.attempts());
      co_return give_up(message, std::move(why), MayHaveRun::yes);
    }
    auto retry = co_await reopen(resumption, *pause);
    if (!retry) co_return give_up(message, std::move(retry).error().within("broke its reply off"), MayHaveRun::yes);
    exchange = *std::move(retry);
  }
}

std::unique_ptr<http::Exchange> HttpTransport::get_stream(const Resumption& resumption) {
  http::ClientRequest client_request = request("GET");
  client_request.headers.emplace_back("Accept", http::kEventStreamType);
  if (resumption.is_possible()) client_request.headers.emplace_back("Last-Event-ID", resumption.last_id());
  return client_->start(std::move(client_request));
}

Task<Result<std::unique_ptr<http::Exchange>>> HttpTransport::reopen(const Resumption& resumption,
                                                                    std::chrono::milliseconds pause) {
  co_await sleep_for(loop_, pause);
  CO_CHECKED(co_await take_token());
  std::string sent = token_;
  auto exchange = get_stream(resumption);
  auto head = co_await exchange->head();
  if (!head) co_return std::unique_ptr<http::Exchange>();  // not reached now
  received_++;
  if (tokens_ && head->status == 401) {
    CO_CHECKED(co_await replace_token(std::move(sent)));
    co_return std::unique_ptr<http::Exchange>();
  }
  if (head->status == 200 && head->media_type() == http::kEventStreamType) co_return std::move(exchange);
  if (head->status >= 500 || head->status == 429) co_return std::unique_ptr<http::Exchange>();
  co_return fail(Code::unavailable, fmt::format("does not resume it (HTTP status {})", head->status));
}

Task<> HttpTransport::listen() {
  Resumption resumption;
  std::chrono::milliseconds pause = resumption.pause();
  while (!over_) {
    const uint64_t before = received_;
    if (const auto ready = co_await take_token(); !ready) co_return;  // the next call says so
    std::string sent = token_;
    auto exchange = get_stream(resumption);
    auto head = co_await exchange->head();
    if (tokens_ && head && head->status == 401) {
      if (const auto renewed = co_await replace_token(std::move(sent)); !renewed) co_return;
      co_await sleep_for(loop_, pause);
      pause = std::min<std::chrono::milliseconds>(2 * pause, kMaxListenPause);
      continue;
    }
    if (head && head->status == 404 && !session_.empty())
      co_return over(Error{Code::unavailable, 0, "no longer knows its session", "", ""});
    const bool is_stream = head && head->status == 200 && head->media_type() == http::kEventStreamType;
    if (head && !is_stream && !resumption.is_possible()) co_return;  // no GET stream here
    if (head && !is_stream) resumption = {};                         // it no longer has the events after that id
    if (is_stream) {
      size_t used = 0;
      const StreamEnd end = co_await read_stream(*exchange, {}, used, resumption);
      received_bytes_ -= used;
      if (!end.why && received_ > before) pause = resumption.pause();
    }
    exchange.reset();
    co_await sleep_for(loop_, pause);
    pause = std::min<std::chrono::milliseconds>(2 * pause, kMaxListenPause);
  }
}

}  // namespace upstream
