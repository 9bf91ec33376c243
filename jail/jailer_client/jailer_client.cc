#include "jail/jailer_client/jailer_client.h"

#include <fcntl.h>
#include <poll.h>

#include "jail/failed_step.h"
#include "jail/fd_message.h"
#include "supervisor/base/log.h"

namespace jail {

JailerClient::JailerClient(Loop& loop, AsyncFd socket, std::function<void()> lost, Error (*exited)())
    : loop_(loop), socket_(std::move(socket)), lost_(std::move(lost)), exit_reason_(exited), tasks_(loop) {}

Result<std::unique_ptr<JailerClient>> JailerClient::start(Loop& loop, Fd socket, std::function<void()> lost) {
  int flags = fcntl(socket.get(), F_GETFL);
  if (fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) < 0) return fail_errno(errno, "jailer socket");
  TRY(AsyncFd async, AsyncFd::adopt(loop, std::move(socket)));
  return start(loop, std::move(async), std::move(lost), jailer_exited);
}

std::unique_ptr<JailerClient> JailerClient::start_of_zygote(Loop& loop, AsyncFd socket, std::function<void()> lost) {
  return start(loop, std::move(socket), std::move(lost), zygote_exited);
}

std::unique_ptr<JailerClient> JailerClient::start(Loop& loop, AsyncFd socket, std::function<void()> lost,
                                                  Error (*exited)()) {
  auto client = std::unique_ptr<JailerClient>(new JailerClient(loop, std::move(socket), std::move(lost), exited));
  client->tasks_.spawn(client->read_answers());
  return client;
}

Task<> JailerClient::read_answers() {
  for (;;) {
    JailerAnswer answer{};
    auto received = receive_message(socket_.get(), &answer, sizeof answer, 1);
    if (!received && received.error().code == Code::unavailable) {
      co_await socket_.readable();
      continue;
    }
    if (!received || !received->open) break;
    auto it = waiting_.find(answer.token);
    if (it == waiting_.end())
      continue;  // the request was cancelled: a pidfd in the answer is closed, and the jail sees its control socket end
    const auto waiting = std::move(it->second);
    waiting_.erase(it);
    Answer full;
    full.message = answer;
    if (!received->fds.empty()) full.descriptor = std::move(received->fds[0]);
    waiting.resolve(std::move(full));
  }
  exited_ = true;
  for (const auto& [token, waiting] : std::exchange(waiting_, {}))
    waiting.resolve(tl::unexpected<Error>(exit_reason_()));
  loop_.defer(lost_);
}

bool JailerClient::is_gone() const {
  pollfd socket{socket_.get(), 0, 0};
  return exited_ || (::poll(&socket, 1, 0) > 0 && (socket.revents & POLLHUP) != 0);
}

Task<Result<JailerClient::Answer>> JailerClient::ask(Order order, std::vector<int> fds) {
  if (exited_) co_return tl::unexpected<Error>(exit_reason_());
  order.token = next_token_++;
  for (;;) {
    auto sent = send_message(socket_.get(), &order, sizeof order, fds);
    if (sent) break;
    if (is_gone()) co_return tl::unexpected<Error>(exit_reason_());
    if (sent.error().code != Code::unavailable)
      co_return tl::unexpected<Error>(std::move(sent).error().within("ask the jailer"));
    Event soon;  // the queue is full. Several tasks may wait here and the socket has one writer slot, so poll by timer
    Deadline deadline(loop_, std::chrono::milliseconds(1), [&soon] { soon.fire(); });
    co_await soon;
  }
  OneShot<Result<Answer>> done(loop_, tl::unexpected<Error>(exit_reason_()));
  waiting_.emplace(order.token, done.resolver());
  CO_TRY(Answer answer, co_await done);
  // This client may be destroyed by now.
  if (answer.message.error != 0) co_return tl::unexpected<Error>(failed_order(answer.message));
  co_return answer;
}

Task<Result<Fd>> JailerClient::build(BuildFds fds, Ids ids) {
  Order order{};
  order.type = OrderType::build;
  order.has_cgroup = fds.cgroup >= 0;
  order.identity = ids.identity;
  order.init_id = ids.init;
  order.runner_id = ids.runner;
  std::vector<int> list{fds.plan, fds.guest, fds.control, fds.out, fds.err};
  if (fds.cgroup >= 0) list.push_back(fds.cgroup);
  CO_TRY(auto answer, co_await ask(order, std::move(list)));
  if (!answer.descriptor) co_return fail(Code::internal, "the jailer answered without a pidfd");
  co_return std::move(answer.descriptor);
}

Task<Result<Fd>> JailerClient::fork(ForkFds fds, Identity identity, JailPurpose purpose) {
  Order order{};
  order.type = OrderType::fork;
  order.wanted = purpose != JailPurpose::stock;
  order.crowded = purpose == JailPurpose::execution_in_crowd;
  order.identity = identity;
  std::vector<int> list{fds.plan, fds.guest, fds.control, fds.out, fds.err, fds.go};
  CO_TRY(auto answer, co_await ask(order, std::move(list)));
  if (!answer.descriptor) co_return fail(Code::internal, "the zygote answered without a pidfd");
  co_return std::move(answer.descriptor);
}

Task<Result<Fd>> JailerClient::attach(int pidfd, Workspace workspace, uint32_t runner_id) {
  Order order{};
  order.type = OrderType::attach;
  order.runner_id = runner_id;
  order.owner_uid = workspace.owner_uid;
  order.owner_gid = workspace.owner_gid;
  order.map_ids = workspace.map_ids;
  order.read_only = workspace.read_only;
  order.staged = workspace.staging >= 0;
  order.listens = workspace.listens;
  std::vector<int> list{pidfd, workspace.directory};
  if (order.staged) list.push_back(workspace.staging);
  CO_TRY(auto answer, co_await ask(order, std::move(list)));
  if (order.listens && !answer.descriptor) co_return fail(Code::internal, "the jailer answered without a listener");
  co_return std::move(answer.descriptor);
}

Task<Result<>> JailerClient::probe_idmap(int directory, uint32_t owner_uid, uint32_t owner_gid, uint32_t runner_id) {
  Order order{};
  order.type = OrderType::probe_idmap;
  order.runner_id = runner_id;
  order.owner_uid = owner_uid;
  order.owner_gid = owner_gid;
  order.map_ids = 1;
  std::vector<int> list{directory};
  CO_TRY(auto answer, co_await ask(order, std::move(list)));
  (void)answer;
  co_return Result<>{};
}

Task<Result<>> JailerClient::limit_project(int directory, uint32_t project, ProjectLimits limits) {
  Order order{};
  order.type = OrderType::limit_project;
  order.project = project;
  order.bytes = limits.bytes;
  order.inodes = limits.inodes;
  std::vector<int> list{directory};
  CO_TRY(auto answer, co_await ask(order, std::move(list)));
  (void)answer;
  co_return Result<>{};
}

Task<Result<HeldFiles>> JailerClient::count_files(int pidfd) {
  Order order{};
  order.type = OrderType::count_files;
  std::vector<int> list{pidfd};
  CO_TRY(auto answer, co_await ask(order, std::move(list)));
  HeldFiles files;
  files.bytes = answer.message.held_bytes;
  files.files = answer.message.held_files;
  files.written = answer.message.written_bytes;
  files.is_partial = answer.message.is_partial != 0;
  files.is_denied = answer.message.is_denied != 0;
  co_return files;
}

bool JailerClient::end(int pidfd) {
  Order order{};
  order.type = OrderType::end;
  // A full queue takes no order. Without its Jail object a jail ends nevertheless: its control socket closes.
  auto sent = send_message(socket_.get(), &order, sizeof order, {pidfd});
  if (!sent) log_debug("ask the jailer to end a jail: {}", sent.error().what);
  return sent.has_value();
}

bool JailerClient::lower_priority(int pidfd, int nice, int session_nice, const std::vector<int>& processes) {
  Order order{};
  order.type = OrderType::lower_priority;
  order.nice = static_cast<uint32_t>(nice);
  order.session_nice = static_cast<uint32_t>(session_nice);
  std::vector<int> fds{pidfd};
  fds.insert(fds.end(), processes.begin(), processes.end());
  return send_message(socket_.get(), &order, sizeof order, fds).has_value();
}

}  // namespace jail
