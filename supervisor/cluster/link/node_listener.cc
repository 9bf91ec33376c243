#include "supervisor/cluster/link/node_listener.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "supervisor/base/json/json.h"
#include "supervisor/base/log.h"
#include "supervisor/cluster/link/first_line.h"
#include "supervisor/cluster/link/node_messages.h"
#include "supervisor/cluster/link/user_socket.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirstLineLimit = 5s;
constexpr auto kShowLimit = 5s;            // of the answer to a look
constexpr size_t kMaxIntroductions = 256;  // connections without their first line, and queries
constexpr size_t kMaxQueriesOfNode = 16;   // one command of an operator is one query

constexpr char kEnded[] = "cluster: a connection of warder-node is ended: {}";

}  // namespace

Result<std::unique_ptr<NodeListener>> NodeListener::open(Loop& loop, Fd socket, std::set<uid_t> users,
                                                         mcp::Listener& clients, Handlers handlers) {
  TRY(AsyncFd watched, watch_listening(loop, std::move(socket)));
  std::unique_ptr<NodeListener> listener(
      new NodeListener(loop, std::move(watched), std::move(users), clients, std::move(handlers)));
  NodeListener& node_listener = *listener;
  auto introduce = [&node_listener](Fd client) {
    if (node_listener.tasks_.live() <= kMaxIntroductions)
      node_listener.tasks_.spawn(node_listener.introduce(std::move(client)));
  };
  node_listener.tasks_.spawn(accept_users(loop, node_listener.socket_, node_listener.users_, std::move(introduce)));
  return listener;
}

Task<> NodeListener::introduce(Fd socket) {
  auto watched = AsyncFd::adopt(loop_, std::move(socket));
  if (!watched) co_return;
  auto line = co_await read_first_line(loop_, *watched, kMaxQueryLine, kFirstLineLimit);
  if (!line) co_return;
  const auto message = parse_json(*line);
  const bool has_one = message && message->is_object() && message->size() == 1;
  if (has_one && message->contains("look")) {
    auto order = read_query_order((*message)["look"]);
    if (!order) co_return log_warning(kEnded, order.error().what);
    if (queries_.count_of(order->node) == kMaxQueriesOfNode)
      co_return log_warning(kEnded, "too many queries of node " + order->node);
    const UnderWay<std::string>::Guard query(queries_, order->node);
    co_await show(*watched, *std::move(order));
    co_return;
  }
  if (has_one && message->contains("take")) {
    auto push = read_push((*message)["take"], "take");
    if (!push) co_return log_warning(kEnded, push.error().what);
    co_return handlers_.take(*std::move(watched), *std::move(push));
  }
  const auto for_client = has_one && message->contains("act") ? read_node_client((*message)["act"], "act")
                                                              : fail(Code::invalid, "no message \"act\"");
  if (!for_client) co_return log_warning(kEnded, for_client.error().what);
  serve_client(*watched, *for_client);
}

void NodeListener::serve_client(AsyncFd& socket, const NodeClient& for_client) {
  constexpr std::string_view kServing = "{\"serving\":{}}\n";
  if (::send(socket.get(), kServing.data(), kServing.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
      static_cast<ssize_t>(kServing.size()))
    return;
  Fd reserved(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
  socket.close();
  if (!reserved) return;
  mcp::Principal::NodeTenant tenant{for_client.account, for_client.policy, for_client.policy_hash};
  clients_.serve_as(std::move(reserved),
                    mcp::Principal::of_node(for_client.node, for_client.principal, std::move(tenant)));
}

Task<> NodeListener::show(AsyncFd& socket, QueryOrder order) {
  auto line = co_await read_first_line(loop_, socket, kMaxLine, kFirstLineLimit);
  if (!line) co_return;
  const auto message = parse_json(*line);
  const auto kind = message ? read_ask(*message) : tl::unexpected<Error>(message.error());
  if (!kind) co_return log_warning("cluster: a query of node {} is not answered: {}", order.node, kind.error().what);
  const Rows rows = handlers_.answer(order, *kind);
  std::string text;
  for (const Json& row : rows.rows) text += dump_json(row) + "\n";
  text += dump_json({{"end", {{"left_out", rows.left_out}}}}) + "\n";
  const Deadline late(loop_, kShowLimit, [&socket] { ::shutdown(socket.get(), SHUT_RDWR); });
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t sent = ::send(socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      rest.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      co_await socket.writable();
    } else if (errno != EINTR) {
      co_return;
    }
  }
}

}  // namespace cluster
