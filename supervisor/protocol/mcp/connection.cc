#include "supervisor/protocol/mcp/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "supervisor/base/ascii.h"
#include "supervisor/base/log.h"

namespace mcp {

namespace {

constexpr int kLinesPerTurn = 32;  // then other connections get a turn

bool hung_up(int fd) {
  pollfd p{fd, 0, 0};
  return ::poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(Loop& loop, Server& server, Fd socket, Accepted accepted,
                                                     ConnectionLimits limits, std::function<void()> on_end) {
  TRY(AsyncFd watched, AsyncFd::adopt(loop, std::move(socket)));
  const auto before = std::exchange(accepted.before, {});
  std::unique_ptr<Connection> connection(
      new Connection(loop, server, std::move(watched), std::move(accepted), limits, std::move(on_end)));
  if (before) connection->go_on(*before);
  connection->reader_.emplace(connection->read());
  connection->reader_->resume();
  return connection;
}

Connection::Connection(Loop& loop, Server& server, AsyncFd socket, Accepted accepted, const ConnectionLimits& limits,
                       std::function<void()> on_end)
    : loop_(loop),
      server_(server),
      socket_(std::move(socket)),
      saved_(std::move(accepted.saved)),
      serve_http_(std::move(accepted.serve_http)),
      ending_(loop, std::move(on_end)),
      outbox_(
          loop, socket_, limits.outbox, [this] { on_room(); }, [this] { end(); }),
      input_(limits.line_bytes, accepted.account) {
  Conversation::Client& client = accepted;
  if (client.refusal) refusal_ = Deadline(loop_, limits.refusal, [this] { end(); });
  conversation_.emplace(loop, server, static_cast<Sink&>(*this), std::move(client), limits);
  outbox_.charge(account().unread, [name = conversation_->name()](size_t bytes) {
    log_warning("a connection of {} is ended: it does not read its answers, of which {} KiB wait", name, bytes >> 10);
  });
  account().connections++;
}

Connection::~Connection() {
  ending_.withdraw();
  outbox_.close();
  account().connections--;
  conversation_.reset();
  // The store (../../daemon/systemd/fd_store.h) holds the socket, too: only shutdown(2) ends the connection for the
  // client.
  if (saved_ && !saved_->is_left()) ::shutdown(socket_.get(), SHUT_RDWR);
}

Task<> Connection::read() {
  while (!input_ended_) {
    const Progress done = handle_lines();
    settle();
    note(ConnectionRecord::reading, !input_.lines.buffered().empty() || input_.lines.is_discarding());
    if (done == Progress::room_needed) co_await room();
    if (done == Progress::more_lines) co_await account().loop->turn();  // other connections first
    if (done == Progress::large_line) co_await on_large(*input_.large);
    if (done != Progress::bytes_needed) continue;
    if (input_ended_) break;  // a refused client got its answer
    co_await socket_.readable();
    const ssize_t got = receive();
    if (got == -EDQUOT) {
      refuse({}, {ErrorCode::invalid_request,
                  "too many long requests of your user arrive at the same time; try again later",
                  {}});
      break;
    }
    if (got > 0) {
      input_.lines.commit(static_cast<size_t>(got));
      if (serve_http_ && begins_http()) co_return hand_to_http();
      serve_http_.reset();
      note(ConnectionRecord::reading, true);
    } else if (got == 0) {
      if (auto last = input_.lines.rest()) {
        LoopShare& share = *account().loop;
        if (share.is_used_up()) co_await share.turn();
        if (!take_last(*last)) co_await on_large(*input_.large);
      }
      break;
    } else if (got != -EINTR && got != -EAGAIN) {
      end();  // for example ECONNRESET: the client is gone
      co_return;
    }
  }
  on_input_end();
}

// Returns the result of recv(2), or its errno as a negative number; -EDQUOT if the user's lines take too much memory.
ssize_t Connection::receive() {
  const LoopShare::Use use(*account().loop);
  const auto space = input_.space();
  if (space.empty()) return -EDQUOT;
  const ssize_t got = ::recv(socket_.get(), space.data(), space.size(), MSG_DONTWAIT);
  return got < 0 ? -errno : got;
}

// A method of HTTP begins with a capital letter, and no JSON text does.
bool Connection::begins_http() const {
  const std::string_view owned = input_.lines.buffered();
  return !owned.empty() && is_upper(owned.front());
}

// The socket lives on in another descriptor, and this connection ends.
void Connection::hand_to_http() {
  Fd socket(::fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0));
  saved_.reset();
  end();
  if (socket) (*serve_http_)(std::move(socket), input_.lines.buffered(), conversation_->client());
}

Connection::Progress Connection::handle_lines() {
  const NamedWork named_work(LoopWork::client_message, &conversation_->name());
  Outbox::Cork cork(outbox_);
  for (int lines = 0; lines < kLinesPerTurn; lines++) {
    if (needs_room()) return Progress::room_needed;
    if (!input_.lines.has_unseen() || input_ended_) return Progress::bytes_needed;
    if (account().loop->is_used_up()) return Progress::more_lines;
    const LoopShare::Use use(*account().loop);
    const auto item = input_.lines.next();
    if (!item) return Progress::bytes_needed;
    if (!take(*item)) return Progress::large_line;
  }
  return Progress::more_lines;
}

// While the user is over the limit of unread answers, a connection that has read its own answers may still send
// requests with immediate answers. Its first call with a handler waits for room, and so do the lines after that call.
bool Connection::needs_room() const {
  return outbox_.full() || (outbox_.is_over_limit() && (!outbox_.empty() || conversation_->is_held_up()));
}

Task<> Connection::room() {
  if (!needs_room()) co_return;  // the end of the cork has made room
  room_ = std::make_shared<Event>();
  std::shared_ptr<Event> room = room_;
  if (!outbox_.full()) outbox_.wait_for_room(room);
  co_await *room;
}

void Connection::on_item(const LineSplitter::Item& item, size_t bytes) {
  if (item.kind == LineSplitter::Kind::too_long) {
    if (item.found && item.found->kind != EnvelopeScan::Kind::request) return;  // the client's response: no answer
    const auto id = item.found ? RequestId::from_text(item.found->raw_id) : std::nullopt;
    const auto why = fmt::format("a line is longer than {} bytes", input_.lines.max_line());
    return refuse(id, {ErrorCode::invalid_request, why, {}});
  }
  on_json(item.text, read_on_loop(item.text, bytes));
}

void Connection::on_json(std::string_view text, IncomingJson json) {
  conversation_->receive(text, std::move(json));
  if (conversation_->is_over()) input_ended_ = true;
}

void Connection::answer(const RequestId*, std::string line, std::optional<ErrorCode>) { send(std::move(line)); }

// A slow reader loses progress, not answers.
void Connection::notify(const RequestId*, std::string line, Delivery delivery) {
  const bool has_room = !outbox_.full() && (outbox_.empty() || !outbox_.is_over_limit());
  if (has_room || delivery == Delivery::always) send(std::move(line));
}

void Connection::send(std::string line) {
  outbox_.send(std::move(line));
  settle();
}

void Connection::settle() {
  if (outbox_.empty()) {
    writing_.reset();
  } else if (!writing_) {
    writing_.emplace(server_, Server::Busy::Kind::output);
  }
  note(ConnectionRecord::writing, !outbox_.empty());
}

void Connection::on_room() {
  settle();
  end_when_done();
  if (room_ && !outbox_.full()) std::exchange(room_, nullptr)->fire();
}

void Connection::calls_changed() {
  note_calls();
  end_when_done();
}

void Connection::on_input_end() {
  input_ended_ = true;
  conversation_->end_input();
  settle();
  if (hung_up(socket_.get())) return end();
  end_when_done();
  if (ending_.was_started()) return;
  // The client has only ended its output and waits for answers, as `printf ... | nc -U` does.
  hangup_ = HangupWatch::start(loop_, socket_.get(), [this] { end(); });
  if (!hangup_) end();
}

void Connection::end_when_done() {
  if (input_ended_ && conversation_->calls() == 0 && outbox_.empty()) end();
}

void Connection::end() { ending_.begin(); }

}  // namespace mcp
