#include "supervisor/protocol/streamable_http/session_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace streamable_http {

std::string SessionStream::id_of(uint64_t event) const { return fmt::format("{}-{}", settings_.number, event); }

void SessionStream::attach(ServerReply& reply, Form form) {
  reply_ = &reply;
  form_ = form;
  if (form_ == Form::json_or_events) decision_ = Deadline(loop_, settings_.limits.decision, [this] { begin_events(); });
}

void SessionStream::attach_events(ServerReply& reply) {
  if (reply_) std::exchange(reply_, nullptr)->end_events();
  lost_ = {};
  reply_ = &reply;
  reply_->begin_events(headers_);
  if (settings_.primes) reply_->priming_event(id_of(next_ - 1), settings_.limits.retry);
  started_ = true;
}

bool SessionStream::resume(ServerReply& reply, uint64_t after) {
  const bool has_all = queued_.empty() ? after + 1 == next_ : after + 1 >= queued_.front().number;
  if (!started_ || after >= next_ || !has_all) return false;
  if (reply_) std::exchange(reply_, nullptr)->end_events();
  lost_ = {};
  unsent_bytes_ = 0;
  const mcp::Outbox::Cork cork(reply.outbox());
  reply.begin_events();
  for (const QueuedEvent& event : queued_)
    if (event.number > after) reply.event(id_of(event.number), event.line);
  if (finished_) {
    reply.end_events();
    wait_for_client();
  } else {
    reply_ = &reply;
  }
  return true;
}

void SessionStream::detach(const ServerReply& reply) {
  if (reply_ != &reply) return;
  reply_ = nullptr;
  decision_ = {};
  wait_for_client();
}

void SessionStream::wait_for_client() {
  if (settings_.number == 0) return;
  lost_ = Deadline(loop_, settings_.limits.orphan, [this] {
    const auto self = shared_from_this();  // on_lost may drop the session's reference
    settings_.on_lost(*this);
  });
}

void SessionStream::begin_events() {
  if (started_ || !reply_) return;
  started_ = true;
  decision_ = {};
  reply_->begin_events(headers_);
  if (settings_.primes) reply_->priming_event(id_of(0), settings_.limits.retry);
}

void SessionStream::add_event(std::string line) {
  const uint64_t number = next_++;
  if (reply_) {
    reply_->event(id_of(number), line);
  } else {
    unsent_bytes_ += line.size();
  }
  saved_bytes_ += line.size();
  queued_.push_back({number, std::move(line)});
  while (saved_bytes_ > settings_.limits.replay_bytes && queued_.size() > 1) {
    saved_bytes_ -= queued_.front().line.size();
    queued_.pop_front();
  }
  unsent_bytes_ = std::min(unsent_bytes_, saved_bytes_);
}

void SessionStream::notify(std::string line, mcp::Sink::Delivery delivery) {
  if (finished_ || form_ == Form::json_only) return;
  const bool has_room = reply_ ? !reply_->outbox().full() : saved_bytes_ < settings_.limits.replay_bytes;
  if (!has_room && delivery == mcp::Sink::Delivery::if_room) return;
  if (!started_ && !reply_) return;  // the client left before the first event, and has no event to resume from
  begin_events();
  add_event(std::move(line));
}

void SessionStream::finish(int status, std::string line) {
  if (std::exchange(finished_, true)) return;
  decision_ = {};
  if (started_) {
    if (!reply_) return add_event(std::move(line));
    const mcp::Outbox::Cork cork(reply_->outbox());
    add_event(std::move(line));
    std::exchange(reply_, nullptr)->end_events();
    wait_for_client();  // the last event may get lost with its connection
  } else if (reply_) {
    std::exchange(reply_, nullptr)->send({status, std::move(line), headers_});
  }
}

void SessionStream::finish_without_answer() {
  if (std::exchange(finished_, true)) return;
  begin_events();
  if (reply_) std::exchange(reply_, nullptr)->end_events();
  drop_events();
}

void SessionStream::abandon(HttpAnswer answer) {
  finished_ = true;
  decision_ = {};
  lost_ = {};
  ServerReply* const reply = std::exchange(reply_, nullptr);
  if (!reply) return;
  if (reply->was_started()) return reply->end_events();
  reply->send(std::move(answer));
}

void SessionStream::drop_events() {
  queued_.clear();
  saved_bytes_ = unsent_bytes_ = 0;
  if (finished_ && !reply_) started_ = false;
}

}  // namespace streamable_http
