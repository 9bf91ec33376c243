#include "supervisor/mcp/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "supervisor/base/json.h"
#include "supervisor/base/log.h"
#include "supervisor/mcp/connection_call.h"

namespace mcp {

namespace {

constexpr int kLinesPerTurn = 32;            // then other connections get a turn
constexpr size_t kFreeLineBytes = 64 << 10;  // a line buffer up to this size is not charged to the account
constexpr size_t kCallBytes = 24 << 10;      // memory of a waiting request: its task, its context, a short message

bool hung_up(int fd) {
  pollfd p{fd, 0, 0};
  return ::poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

}  // namespace

// Hangup: calls a function when a peer that has ended its output closes the socket. After end of file the socket stays
// readable, so readable events do not show the close. EPOLLHUP does, and epoll_ctl(2) always reports it. The watcher
// itself asks only for UV_PRIORITIZED (out-of-band data).
struct Connection::Hangup {
  struct Box {
    uv_poll_t handle;
    std::function<void()> fn;
  };
  Fd fd;  // a duplicate, because AsyncFd's descriptor has a watcher already. Closed after the box
  UvPtr<Box> box;

  static std::unique_ptr<Hangup> watch(Loop& loop, int socket, std::function<void()> fn) {
    auto hangup = std::make_unique<Hangup>();
    hangup->fd.reset(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
    auto box = std::make_unique<Box>();
    if (!hangup->fd || uv_poll_init(loop.uv(), &box->handle, hangup->fd.get()) < 0) return nullptr;
    box->fn = std::move(fn);
    box->handle.data = box.get();
    hangup->box.reset(box.release());
    uv_poll_start(&hangup->box->handle, UV_PRIORITIZED, [](uv_poll_t* handle, int, int) {
      const Doing doing(LoopWork::other);
      uv_poll_stop(handle);  // out-of-band data would wake the loop without end; a failed write shows the close
      static_cast<Box*>(handle->data)->fn();
    });
    return hangup;
  }
};

Result<std::unique_ptr<Connection>> Connection::open(Loop& loop, Server& server, Fd socket, Accepted accepted,
                                                     ConnectionLimits limits, std::function<void()> on_end) {
  TRY(AsyncFd watched, AsyncFd::adopt(loop, std::move(socket)));
  std::unique_ptr<Connection> connection(
      new Connection(loop, server, std::move(watched), std::move(accepted), limits, std::move(on_end)));
  if (connection->accepted_.before) connection->go_on(*std::exchange(connection->accepted_.before, {}));
  connection->reader_.emplace(connection->read());
  connection->reader_->resume();
  return connection;
}

Connection::Connection(Loop& loop, Server& server, AsyncFd socket, Accepted accepted, ConnectionLimits limits,
                       std::function<void()> on_end)
    : loop_(loop),
      server_(server),
      socket_(std::move(socket)),
      accepted_(std::move(accepted)),
      name_(accepted_.principal.shown()),
      limits_(limits),
      on_end_(std::move(on_end)),
      self_(std::make_shared<Connection*>(this)),
      outbox_(
          loop, socket_, limits.outbox, [this] { on_room(); }, [this] { end(); }),
      lines_(limits.line_bytes),
      work_(std::make_shared<Work>()) {
  if (!accepted_.account->unread) accepted_.account->unread = std::make_shared<UnreadAccount>(server_.unread());
  if (!accepted_.account->loop) accepted_.account->loop = server_.loop_shares().of(name_);
  outbox_.charge(accepted_.account->unread, [this](size_t bytes) {
    log_warning("a connection of {} is ended: it does not read its answers, of which {} KiB wait", name_, bytes >> 10);
  });
  accepted_.account->connections++;
  if (accepted_.refusal) refusal_ = Deadline(loop_, limits_.refusal, [this] { end(); });
}

Connection::~Connection() {
  ended_ = true;
  self_.reset();
  outbox_.close();
  // A handler's destructor may let another handler finish. That one looks for its call in calls_, which must be empty.
  auto calls = std::exchange(calls_, {});
  calls.clear();
  auto parked = std::exchange(parked_, {});
  parked.clear();
  accepted_.account->connections--;
  accepted_.account->line_bytes -= charged_;
  // The store (fd_store.h) holds the socket, too: only shutdown(2) ends the connection for the client.
  if (accepted_.kept && !accepted_.kept->is_left()) ::shutdown(socket_.get(), SHUT_RDWR);
}

Task<> Connection::read() {
  while (!input_ended_) {
    const Progress done = handle_lines();
    settle();
    note(ConnectionRecord::reading, !lines_.held().empty() || lines_.is_discarding());
    if (done == Progress::room_needed) co_await room();
    if (done == Progress::more_lines) co_await accepted_.account->loop->turn();  // other connections first
    if (done == Progress::large_line) co_await on_large(*large_);
    if (done != Progress::bytes_needed) continue;
    if (input_ended_) break;  // a refused client got its answer
    co_await socket_.readable();
    const ssize_t got = receive();
    if (got == -EDQUOT) {
      refuse({}, {ErrorCode::invalid_request, "too many long requests of yours are arriving; try again later", {}}, {});
      break;
    }
    if (got > 0) {
      lines_.commit(static_cast<size_t>(got));
      note(ConnectionRecord::reading, true);
    } else if (got == 0) {
      if (auto last = lines_.rest()) {
        LoopShare& share = *accepted_.account->loop;
        if (share.is_used_up()) co_await share.turn();
        if (!take_last(*last)) co_await on_large(*large_);
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
  const LoopShare::Use use(*accepted_.account->loop);
  const auto space = lines_.space();
  if (!charge(lines_.capacity())) return -EDQUOT;
  const ssize_t got = ::recv(socket_.get(), space.data(), space.size(), MSG_DONTWAIT);
  return got < 0 ? -errno : got;
}

Connection::Progress Connection::handle_lines() {
  const Doing doing(LoopWork::client_message, &name_);
  Outbox::Cork cork(outbox_);
  for (int lines = 0; lines < kLinesPerTurn; lines++) {
    if (needs_room()) return Progress::room_needed;
    if (!lines_.has_unseen() || input_ended_) return Progress::bytes_needed;
    if (accepted_.account->loop->is_used_up()) return Progress::more_lines;
    const LoopShare::Use use(*accepted_.account->loop);
    const auto item = lines_.next();
    if (!item) return Progress::bytes_needed;
    if (!take(*item)) return Progress::large_line;
  }
  return Progress::more_lines;
}

// While the user is over the limit of unread answers, a connection that has read its own answers may still send
// requests with immediate answers. Its first call with a handler waits for room, and so do the lines after that call.
bool Connection::needs_room() const {
  return outbox_.full() || (accepted_.account->unread->is_over() && (!outbox_.empty() || held_up_ > 0));
}

// A slow reader loses progress, not answers.
bool Connection::takes_notifications() const {
  return !outbox_.full() && (outbox_.empty() || !accepted_.account->unread->is_over());
}

Task<> Connection::room() {
  if (!needs_room()) co_return;  // the end of the cork has made room
  room_ = std::make_shared<Event>();
  std::shared_ptr<Event> room = room_;
  if (!outbox_.full()) outbox_.wait_for_room(room);
  co_await *room;
}

bool Connection::charge(size_t capacity) {
  const size_t now = capacity > kFreeLineBytes ? capacity : 0;
  Account& account = *accepted_.account;
  if (now > charged_ && account.line_bytes - charged_ + now > account.max_line_bytes) return false;
  account.line_bytes += now - charged_;
  charged_ = now;
  return true;
}

void Connection::on_item(const LineSplitter::Item& item, size_t bytes) {
  if (item.kind == LineSplitter::Kind::too_long) {
    if (item.found && item.found->kind != EnvelopeScan::Kind::request) return;  // the client's response: no answer
    const auto id = item.found ? RequestId::from_text(item.found->raw_id) : std::nullopt;
    refuse(id, {ErrorCode::invalid_request, fmt::format("a line is longer than {} bytes", limits_.line_bytes), {}}, {});
    return;
  }
  auto value = parse_line(item.text);
  if (bytes == 0 || !value) return on_line(item.text, {std::move(value), {}});
  on_line(item.text, value->is_array() ? measure(item.text, std::move(value)) : Line{std::move(value), {{bytes, {}}}});
}

void Connection::on_line(std::string_view text, Line line) {
  auto& value = line.value;
  if (!value) return refuse(value.error().id, value.error().error, {});
  const FreesBeside frees(server_.json_work(), *value);
  if (value->is_array()) {
    on_batch(*std::move(value), line.measures);
  } else {
    on_message(*std::move(value), text, line.measures.empty() ? Measure{} : line.measures.front(), {});
  }
}

void Connection::on_batch(Json&& items, const std::vector<Measure>& measures) {
  std::string wrong;
  if (!negotiated_ || !has_batches(*negotiated_)) {
    wrong = "arrays of messages belong to protocol version 2025-03-26 only";
  } else if (items.empty()) {
    wrong = "an empty array";
  } else if (items.size() > limits_.batch) {
    wrong = fmt::format("{} messages in one array, the limit is {}", items.size(), limits_.batch);
  }
  if (!wrong.empty()) {
    refuse({}, {ErrorCode::invalid_request, "Invalid Request: " + wrong, {}}, {});
    return;
  }
  auto batch = std::make_shared<Batch>(outbox_, accepted_.account->unread);
  for (size_t i = 0; i < items.size(); i++)
    on_message(std::move(items[i]), {}, i < measures.size() ? measures[i] : Measure{}, batch);
}

void Connection::on_message(Json&& value, std::string_view line, const Measure& measure,
                            const std::shared_ptr<Batch>& batch) {
  auto message = read_message(std::move(value), line);
  if (!message) {
    refuse(message.error().id, message.error().error, batch);
    return;
  }
  const FreesBeside frees(server_.json_work(), message->content());
  switch (message->kind) {
    case Message::Kind::request:
      on_request(*std::move(message), measure, batch);
      break;
    case Message::Kind::notification:
      on_notification(*message);
      break;
    case Message::Kind::response:
      on_response(*message);
      break;
  }
}

void Connection::on_notification(const Message& message) {
  if (message.method != "notifications/cancelled") return;
  const auto id = message.params.find("requestId");
  if (id == message.params.end()) return;
  if (auto cancelled = RequestId::from(*id)) cancel(*cancelled);
}

void Connection::on_request(Message&& message, const Measure& measure, const std::shared_ptr<Batch>& batch) {
  if (accepted_.refusal) {
    Json data = {{"code", code_name(accepted_.refusal->code)}, {meta_key::kNotRun, "refused"}};
    if (!accepted_.refusal->hint.empty()) data["remedy"] = accepted_.refusal->hint;
    refuse(message.id, {ErrorCode::internal_error, accepted_.refusal->what, std::move(data)}, batch);
    input_ended_ = true;
    return;
  }
  auto not_found = [&] {
    refuse(message.id, {ErrorCode::method_not_found, "Method not found: " + printable(message.method, 64), {}}, batch);
  };
  if (calls_.contains(message.id)) {  // the client would take an error with that id for the first request's answer
    return refuse({}, {ErrorCode::invalid_request, "Invalid Request: id " + message.id.wire + " is in use", {}}, batch);
  }
  if (!server_.is_known(message.method)) return not_found();
  if (batch && message.method == "initialize") {
    return refuse(message.id, {ErrorCode::invalid_request, "Invalid Request: initialize comes alone", {}}, batch);
  }
  auto meta = read_meta(message.params);
  if (!meta) return refuse(message.id, std::move(meta).error(), batch);

  const std::optional<Version> version = meta->modern ? meta->modern : negotiated_;
  if (!version && message.method != "initialize" && message.method != "ping") {
    const auto text = fmt::format("Invalid params: send initialize first, or name a version in _meta[\"{}\"]",
                                  meta_key::kProtocolVersion);
    return refuse(message.id, {ErrorCode::invalid_params, text, {}}, batch);
  }
  const Version spoken = version.value_or(kNewestLegacy);
  const auto method = server_.find_method(message.method, era_of(spoken));
  if (!method) return not_found();
  if (!Server::is_immediate(*method)) {
    return start_call(*method, std::move(message), measure, *std::move(meta), spoken, batch);
  }
  const auto answer = *method == Method::initialize  ? initialize(message.params)
                      : *method == Method::set_level ? set_level(message.params)
                      : *method == Method::subscribe || *method == Method::unsubscribe
                          ? subscribe(*method, message.params)
                          : server_.answer_now(*method, spoken, accepted_.user, message.params);
  if (!answer) return refuse(message.id, answer.error(), batch);
  reply(result_line(message.id, *answer), batch);
}

// The error for the limit that one more request would exceed; nullopt: it would exceed no limit.
std::optional<RpcError> Connection::find_limit(const RequestId& id, size_t bytes, bool queues) const {
  const size_t in_work = queues ? work_->queued : work_->calls;
  const size_t most = queues ? limits_.queued_calls : limits_.calls;
  const Account& account = *accepted_.account;
  std::string why;
  if (in_work >= most) {
    why = fmt::format("this connection already has {} requests in work or waiting", in_work);
  } else if (work_->id_bytes + id.wire.size() > limits_.id_bytes) {
    why = fmt::format("the ids of this connection's unanswered requests have {} bytes", work_->id_bytes);
  } else if (account.call_bytes + bytes > account.max_call_bytes) {
    why = fmt::format("your requests that run or wait already take {} MiB of memory", account.call_bytes >> 20);
  } else {
    return {};
  }
  return RpcError{ErrorCode::internal_error,
                  why + "; this one did not run",
                  {{"code", "exhausted"}, {"remedy", "wait for some to be answered, then send it again"}}};
}

void Connection::start_call(Method method, Message&& message, const Measure& measure, RequestMeta meta, Version version,
                            const std::shared_ptr<Batch>& batch) {
  if (meta.modern && message.params.contains("requestState")) return resume(message, measure, std::move(meta));
  if (method != Method::tools_call && is_large(message.params)) {
    const auto text = fmt::format("Invalid params: {} has more than {} KiB", message.method, kSmallText >> 10);
    return refuse(message.id, {ErrorCode::invalid_params, text, {}}, batch);
  }
  const bool queues = method == Method::tools_call && server_.queues(message.params);
  const size_t bytes = measure.bytes + kCallBytes;
  if (auto limit = find_limit(message.id, bytes, queues)) return refuse(message.id, *std::move(limit), batch);
  if (batch && accepted_.account->unread->is_over()) {  // the request and its array would wait for each other
    const auto why = fmt::format("your answers that are not read yet take {} MiB of memory; this one did not run",
                                 accepted_.account->unread->bytes() >> 20);
    const Json data = {{"code", "exhausted"}, {"remedy", "read them, then send it again"}};
    return refuse(message.id, {ErrorCode::internal_error, why, data}, batch);
  }
  RequestContext context(loop_, message.id, version, [this](std::string line) {
    if (takes_notifications()) reply(std::move(line), {});
  });
  context.method = std::move(message.method);
  context.principal = accepted_.principal;
  context.user = accepted_.user;
  context.client =
      meta.modern
          ? std::make_shared<ClientInfo>(ClientInfo{std::move(meta.client_capabilities), std::move(meta.client_info)})
          : client_;
  context.meta = std::move(meta.all);
  context.set_notifications(std::move(meta.progress_token), meta.modern ? meta.log_level : log_level_);

  Call& call = *calls_.emplace(message.id, std::make_unique<Call>(server_, std::move(context), batch)).first->second;
  call.share.emplace(work_, accepted_.account, queues, message.id.wire.size(), bytes);
  call.unread.emplace(accepted_.account->unread);
  note_calls();
  if (meta.modern && can_elicit(call.context.client->capabilities, version))
    call.digest = measure.digest ? *measure.digest : digest_of(message.params);
  call.context.set_hold([&call](size_t more) { return call.share->add(more); });
  call.context.set_made([&call](size_t made) { call.unread->set(made); });
  call.context.set_ask([this, &call](ElicitationForm form, std::function<void(Elicited)> answered) {
    return ask_client(call, std::move(form), std::move(answered));
  });
  call.task.emplace(run_call(call, method, FreedBeside(server_.json_work(), std::move(message.params))));
  call.task->resume();
}

Task<> Connection::run_call(Call& call, Method method, FreedBeside params) {
  while (accepted_.account->unread->is_over()) {
    HeldUp held_up(held_up_);
    auto room = std::make_shared<Event>();
    outbox_.wait_for_room(room);
    co_await *room;
  }
  Answer answer = co_await server_.answer(method, call.context, std::move(*params), limits_.reply_bytes);
  finish(call, std::move(answer));
}

void Connection::finish(Call& call, Answer answer) {
  call.context.close();
  if (!call.state.empty()) return keep_answer(call, std::move(answer));
  auto node = calls_.extract(call.context.id);
  if (node.empty()) return;  // in the destructor
  const RequestId& id = call.context.id;
  call.unread->set(0);
  const Doing doing(LoopWork::answer, &name_);
  reply(answer ? result_line(id, *answer) : error_line(id, answer.error()), std::exchange(call.batch, nullptr));
  note_calls();  // after the answer: after a crash, two answers do less harm than no answer
  call.share.reset();
  call.busy.reset();
  // Destroyed later, because the call's task is on the stack.
  loop_.defer([done = std::shared_ptr<Call>(std::move(node.mapped()))] {});
  end_when_done();
}

void Connection::cancel(const RequestId& id) {
  const auto cancelled = calls_.extract(id);  // destroyed here, with its handler
  if (cancelled) note_calls();
}

void Connection::reply(std::string line, const std::shared_ptr<Batch>& batch) {
  if (batch) {
    batch->add(line);
  } else {
    outbox_.send(std::move(line));
  }
  settle();
}

void Connection::refuse(const std::optional<RequestId>& id, RpcError error, const std::shared_ptr<Batch>& batch) {
  reply(error_line(id, error), batch);
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

void Connection::on_input_end() {
  input_ended_ = true;
  give_up_questions();
  settle();
  if (hung_up(socket_.get())) return end();
  end_when_done();
  if (ended_) return;
  // The client has only ended its output and waits for answers, as `printf ... | nc -U` does.
  hangup_ = Hangup::watch(loop_, socket_.get(), [this] { end(); });
  if (!hangup_) end();
}

void Connection::end_when_done() {
  if (input_ended_ && calls_.empty() && outbox_.empty()) end();
}

void Connection::end() {
  if (std::exchange(ended_, true)) return;
  loop_.defer([self = std::weak_ptr<Connection*>(self_)] {
    auto alive = self.lock();
    if (!alive) return;
    auto on_end = std::move((*alive)->on_end_);  // destroys the connection
    on_end();
  });
}

}  // namespace mcp
