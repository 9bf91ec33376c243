#include "supervisor/protocol/streamable_http/connection.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "supervisor/base/log.h"
#include "supervisor/protocol/mcp/jsonrpc.h"

namespace streamable_http {
namespace {

constexpr size_t kReadBytes = 64 << 10;  // of one recv()
constexpr size_t kFreeBytes = 64 << 10;  // a request up to this size is not charged to the account
constexpr size_t kMaxDropped = 1 << 20;  // bytes that are read after a refusal, so that the client can read it

HttpAnswer plain_refusal(int status, std::string why) {
  return {status, mcp::error_line({}, {mcp::ErrorCode::invalid_request, std::move(why), {}}), {}};
}

}  // namespace

Result<std::unique_ptr<HttpConnection>> HttpConnection::open(Loop& loop, mcp::Server& server, Host& host,
                                                             Accepted accepted, const HttpLimits& limits,
                                                             std::function<void()> on_end) {
  TRY(AsyncFd watched, AsyncFd::adopt(loop, std::move(accepted.socket)));
  std::unique_ptr<HttpConnection> connection(
      new HttpConnection(loop, server, host, std::move(watched), std::move(accepted), limits, std::move(on_end)));
  connection->wait_for_request();
  connection->handle_input();
  connection->reader_.emplace(connection->read());
  connection->reader_->resume();
  return connection;
}

HttpConnection::HttpConnection(Loop& loop, mcp::Server& server, Host& host, AsyncFd socket, Accepted accepted,
                               const HttpLimits& limits, std::function<void()> on_end)
    : loop_(loop),
      server_(server),
      host_(host),
      limits_(limits),
      socket_(std::move(socket)),
      authenticator_(std::move(accepted.authenticator)),
      own_address_(std::move(accepted.own_address)),
      client_address_(std::move(accepted.client_address)),
      share_(server.loop_shares().of("HTTP clients without a principal")),
      ending_(loop, std::move(on_end)),
      outbox_(
          loop, socket_, limits.outbox, [this] { on_room(); }, [this] { end(); }),
      parser_(limits.request),
      input_(std::move(accepted.bytes)),
      self_(std::make_shared<HttpConnection*>(this)) {
  if (accepted.client) set_client(*std::move(accepted.client));
}

HttpConnection::~HttpConnection() {
  ending_.withdraw();
  self_.reset();
  responder_.reset();
  reply_.reset();
  outbox_.close();
  if (charged_to_) charged_to_->line_bytes -= charged_;
  if (client_) client_->account->http_connections--;
}

void HttpConnection::set_client(mcp::Conversation::Client client) {
  const bool is_first = !client_;
  if (client_) client_->account->http_connections--;
  client_ = std::move(client);
  mcp::Account& account = *client_->account;
  account.http_connections++;
  if (!account.unread) account.unread = std::make_shared<mcp::UnreadAccount>(server_.unread());
  if (!account.loop) account.loop = server_.loop_shares().of(client_->principal.displayed());
  share_ = account.loop;
  if (!is_first) return;  // the answers of one connection are charged to its first principal
  outbox_.charge(account.unread, [name = client_->principal.displayed()](size_t bytes) {
    log_warning("an HTTP connection of {} is ended: it does not read its answers, of which {} KiB wait", name,
                bytes >> 10);
  });
}

Task<> HttpConnection::read() {
  while (!ending_.was_started()) {
    co_await socket_.readable();
    const std::shared_ptr<LoopShare> share = share_;
    if (share->is_used_up()) co_await share->turn();
    const LoopShare::Use use(*share);
    if (!receive()) co_return end();  // the client left: its request is cancelled
    handle_input();
  }
}

// False: the client has closed the connection, or its output.
bool HttpConnection::receive() {
  std::array<char, kReadBytes> bytes;
  const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  if (closing_ || delayed_) {
    dropped_ += static_cast<size_t>(got);
    return dropped_ <= kMaxDropped;
  }
  input_.append(bytes.data(), static_cast<size_t>(got));
  return !reply_ || input_.size() <= limits_.pipelined_bytes;
}

void HttpConnection::handle_input() {
  const NamedWork named_work(LoopWork::client_message);
  const mcp::Outbox::Cork cork(outbox_);
  size_t used = 0;
  while (!reply_ && !closing_ && !delayed_ && !ending_.was_started()) {
    const size_t now = parser_.feed(std::string_view(input_).substr(used));
    used += now;
    if (!handle_progress(now)) break;
  }
  if (used == input_.size()) {
    std::string().swap(input_);  // assigning an empty text would keep its memory
  } else {
    input_.erase(0, used);
  }
  settle();
}

// Acts on the state of the parser after it took `used` bytes. False: it needs more bytes.
bool HttpConnection::handle_progress(size_t used) {
  using State = http::RequestParser::State;
  switch (parser_.state()) {
    case State::idle:
      return false;
    case State::head:
      if (!std::exchange(reading_, true))
        patience_ =
            Deadline(loop_, limits_.head, [this] { refuse(plain_refusal(408, "the head of the request is late")); });
      return false;
    case State::body:
      if (!has_head_) return handle_head();
      if (!charge_input()) return false;
      if (used > 0) wait_for_body();
      return used > 0;
    case State::full:
      if (!has_head_ && !handle_head()) return false;
      if (charge_input()) start_reply();
      return false;
    case State::refused:
      refuse(plain_refusal(parser_.refused().status, parser_.refused().why));
      return false;
  }
  return false;
}

bool HttpConnection::handle_head() {
  has_head_ = reading_ = true;
  if (auto refusal = host_.check(*this, parser_.request())) {
    refuse_later(*std::move(refusal));
    return false;
  }
  if (parser_.state() != http::RequestParser::State::body) return true;
  if (parser_.request().expects_continue) outbox_.send_bytes(std::string(kContinue));
  body_ = Deadline(loop_, limits_.body, [this] { refuse(plain_refusal(408, "the body of the request is late")); });
  wait_for_body();
  return true;
}

void HttpConnection::wait_for_body() {
  patience_ =
      Deadline(loop_, limits_.body_silence, [this] { refuse(plain_refusal(408, "the body of the request is late")); });
}

// Charges the memory of the request to the account of its principal. Refuses the request if the account is full.
bool HttpConnection::charge_input() {
  const size_t buffered = parser_.held_bytes();
  const size_t now = buffered > kFreeBytes ? buffered : 0;
  if (!charged_to_) charged_to_ = client_->account;
  mcp::Account& account = *charged_to_;
  if (now > charged_ && account.line_bytes - charged_ + now > account.max_line_bytes) {
    refuse(plain_refusal(503, "too many long requests of your user arrive at the same time; try again later"));
    return false;
  }
  account.line_bytes += now - charged_;
  charged_ = now;
  return true;
}

void HttpConnection::request_is_over() {
  if (charged_to_) charged_to_->line_bytes -= std::exchange(charged_, 0);
  charged_to_.reset();
  has_head_ = reading_ = false;
  patience_ = {};
  body_ = {};
}

void HttpConnection::make_reply(ServerReply::Form form) {
  form.keeps_alive = form.keeps_alive && !closes_;
  form.fields = std::exchange(reply_fields_, {});
  reply_.emplace(loop_, outbox_, std::move(form), limits_.comments,
                 [this] {  // later: a task of the responder is on the stack
                   loop_.defer([self = std::weak_ptr(self_)] {
                     if (const auto alive = self.lock()) (*alive)->end_reply();
                   });
                 });
}

void HttpConnection::start_reply() {
  http::IncomingRequest request = parser_.take();
  request_is_over();
  make_reply({request.is_http_1_0, request.keeps_alive, request.method != "HEAD"});
  responder_ = host_.respond(*this, std::move(request), *reply_);
}

void HttpConnection::refuse_later(Host::Refusal refusal) {
  if (refusal.ends) return end();
  if (refusal.delay <= std::chrono::milliseconds(0)) return refuse(std::move(refusal.answer));
  body_ = {};
  closes_ = true;  // what comes until then is dropped, so the start of a next request would be lost
  const auto delay = refusal.delay;
  delayed_ = std::move(refusal);
  patience_ = Deadline(loop_, delay, [this] {
    HttpAnswer answer = std::move(delayed_->answer);
    delayed_.reset();
    refuse(std::move(answer));
  });
}

// Answers without a responder. The connection ends after it, unless the request is whole.
void HttpConnection::refuse(HttpAnswer answer) {
  if (reply_ || closing_ || ending_.was_started()) return;
  ServerReply::Form form{false, false, true};
  if (parser_.state() == http::RequestParser::State::full) {
    const http::IncomingRequest request = parser_.take();
    form = {request.is_http_1_0, request.keeps_alive, request.method != "HEAD"};
  }
  request_is_over();
  make_reply(form);
  reply_->send(std::move(answer));
}

void HttpConnection::end_reply() {
  const bool stays = reply_->keeps_alive() && !closes_;
  responder_.reset();
  reply_.reset();
  settle();
  if (!stays) return close_when_written();
  wait_for_request();
  handle_input();
}

void HttpConnection::wait_for_request() {
  patience_ = Deadline(loop_, limits_.idle, [this] { end(); });
}

void HttpConnection::close_after_reply() {
  closes_ = true;
  if (is_waiting()) end();
}

// A socket that is closed with unread bytes resets the connection, and the client loses the last answer. So the client
// gets the end of the stream first, and some time to close.
void HttpConnection::close_when_written() {
  closing_ = true;
  input_ = {};
  if (!outbox_.empty()) return;  // on_room() comes back here
  ::shutdown(socket_.get(), SHUT_WR);
  patience_ = Deadline(loop_, limits_.linger, [this] { end(); });
}

void HttpConnection::settle() {
  if (outbox_.empty()) {
    writing_.reset();
  } else if (!writing_) {
    writing_.emplace(server_, mcp::Server::Busy::Kind::output);
  }
}

void HttpConnection::on_room() {
  settle();
  if (closing_ && outbox_.empty()) close_when_written();
}

void HttpConnection::end() { ending_.begin(); }

}  // namespace streamable_http
