#include "supervisor/cluster/link/node_listener.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <string_view>
#include <utility>

#include "supervisor/base/json.h"
#include "supervisor/base/log.h"
#include "supervisor/cluster/link/first_line.h"
#include "supervisor/cluster/link/node_messages.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirstLineLimit = 5s;
constexpr size_t kMostIntroductions = 256;  // connections without their first line
constexpr auto kPause = 100ms;              // after accept() failed

}  // namespace

Result<std::unique_ptr<NodeListener>> NodeListener::open(Loop& loop, Fd socket, std::set<uid_t> users,
                                                         mcp::Listener& clients) {
  const int flags = ::fcntl(socket.get(), F_GETFL);
  if (flags < 0 || ::fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) < 0) return fail_errno(errno, "fcntl");
  TRY(AsyncFd watched, AsyncFd::adopt(loop, std::move(socket)));
  std::unique_ptr<NodeListener> listener(new NodeListener(loop, std::move(watched), std::move(users), clients));
  listener->tasks_.spawn(listener->accept_all());
  return listener;
}

bool NodeListener::may_connect(int socket) const {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && users_.contains(peer.uid);
}

Task<> NodeListener::accept_all() {
  for (;;) {
    co_await socket_.readable();
    Fd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client) {
      const int error = errno;
      if (error != EAGAIN && error != EINTR && error != ECONNABORTED) co_await sleep_for(loop_, kPause);
    } else if (tasks_.live() <= kMostIntroductions && may_connect(client.get())) {
      tasks_.spawn(introduce(std::move(client)));
    }
  }
}

Task<> NodeListener::introduce(Fd socket) {
  auto watched = AsyncFd::adopt(loop_, std::move(socket));
  if (!watched) co_return;
  auto line = co_await read_first_line(loop_, *watched, kMostLine, kFirstLineLimit);
  if (!line) co_return;
  const auto message = parse_json(*line);
  const bool has_acting = message && message->is_object() && message->size() == 1 && message->contains("act");
  const auto acting = has_acting ? read_acting((*message)["act"], "act") : fail(Code::invalid, "no message \"act\"");
  if (!acting) {
    log_warning("cluster: a connection of warder-node is ended: {}", acting.error().what);
    co_return;
  }
  constexpr std::string_view kServing = "{\"serving\":{}}\n";
  if (::send(watched->get(), kServing.data(), kServing.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
      static_cast<ssize_t>(kServing.size()))
    co_return;
  Fd taken(::fcntl(watched->get(), F_DUPFD_CLOEXEC, 0));
  watched->close();
  if (!taken) co_return;
  mcp::Principal::NodeTenant tenant{acting->account, acting->policy, acting->policy_hash};
  clients_.serve_as(std::move(taken), mcp::Principal::of_node(acting->node, acting->principal, std::move(tenant)));
}

}  // namespace cluster
