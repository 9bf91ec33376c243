#include "supervisor/cluster/link/cluster_query.h"

#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/cluster/link/line_reader.h"

namespace cluster {
namespace {

constexpr size_t kMaxConcurrentQuestions = 64;
constexpr size_t kMaxRowsInAll = 5000;
constexpr size_t kMaxNodes = 5000;

// What the tasks of one query share.
struct RunningQuery {
  Loop& loop;
  NodeLink& link;
  ClusterQuery query;
  std::vector<std::string> nodes = {};  // to ask, in the order of names
  size_t next = 0;
  size_t asking = 0;  // tasks
  size_t rows = 0;
  uint64_t left_out = 0;
  std::set<std::string> answered = {};
  std::shared_ptr<Event> done = std::make_shared<Event>();
};

Result<uint64_t> read_end(const Json& message) {
  Fields fields(message, "end");
  TRY(const int64_t left_out, fields.integer("left_out", 0, int64_t{1} << 53));
  CHECKED(fields.done());
  return static_cast<uint64_t>(left_out);
}

// The rows up to the last line. Errors: another form; the connection ended before.
Task<Result<uint64_t>> read_rows(Loop& loop, AsyncFd& socket, std::vector<Json>& rows) {
  Result<uint64_t> end = fail(Code::unavailable, "the connection ended");
  const auto take = [&](const LineSplitter::Item& line) {
    auto row = line.kind == LineSplitter::Kind::line ? parse_json(line.text) : fail(Code::invalid, "a row is too long");
    if (!row) {
      end = tl::unexpected<Error>(std::move(row).error());
    } else if (row->is_object() && row->size() == 1 && row->contains("end")) {
      end = read_end((*row)["end"]);
    } else if (rows.size() == kMaxQueryRows) {
      end = fail(Code::invalid, "too many rows");
    } else {
      rows.push_back(*std::move(row));
      return true;
    }
    return false;
  };
  co_await read_lines(loop, socket, kMaxQueryRow, take);
  co_return end;
}

Task<Result<>> ask_node(RunningQuery& running, const std::string& node) {
  CO_TRY(auto opened, co_await running.link.open_query(node));
  const std::string line = dump_json(write_ask(running.query.kind)) + "\n";
  if (::send(opened.socket.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
      static_cast<ssize_t>(line.size()))
    co_return fail(Code::unavailable, "the connection takes no bytes");
  std::vector<Json> rows;
  CO_TRY(const uint64_t left_out, co_await read_rows(running.loop, opened.socket, rows));
  const size_t room = kMaxRowsInAll - std::min(running.rows, kMaxRowsInAll);
  const size_t too_many = rows.size() > room ? rows.size() - room : 0;
  rows.resize(rows.size() - too_many);
  CO_CHECKED(running.query.take(node, rows));
  running.rows += rows.size();
  running.left_out += left_out + too_many;
  co_return Result<>{};
}

Task<> ask_some(RunningQuery& running) {
  while (running.next < running.nodes.size()) {
    const std::string node = running.nodes[running.next++];
    const auto answered = co_await ask_node(running, node);
    if (answered) running.answered.insert(node);
  }
  // In a later turn: the event ends the query, and this task with it.
  if (--running.asking == 0) running.loop.defer([done = running.done] { done->fire(); });
}

bool is_requested(const NodeView& node) {
  return node.state == NodeState::alive || node.state == NodeState::doubted || node.state == NodeState::drained;
}

}  // namespace

Task<Result<ClusterQueryResult>> query_all_nodes(Loop& loop, NodeLink& link, ClusterQuery query) {
  RunningQuery running{.loop = loop, .link = link, .query = std::move(query)};
  const Deadline late(loop, running.query.limit, [done = running.done] { done->fire(); });
  ClusterQueryResult result;
  for (std::string after; result.nodes.size() < kMaxNodes;) {
    CO_TRY(NodePage page, co_await link.nodes_after(after));
    for (auto& node : page.nodes) result.nodes.push_back(std::move(node));
    after = page.next;
    if (after.empty()) break;
  }
  for (const auto& node : result.nodes)
    if (is_requested(node)) running.nodes.push_back(node.name);
  {
    Scope tasks(loop);
    running.asking = std::min(kMaxConcurrentQuestions, running.nodes.size());
    for (size_t i = running.asking; i > 0; i--) tasks.spawn(ask_some(running));
    if (!running.nodes.empty()) co_await *running.done;
  }
  for (const auto& node : result.nodes) {
    if (!running.answered.contains(node.name) && node.state != NodeState::here && node.state != NodeState::removed)
      result.unanswered.push_back(node.name);
  }
  result.left_out = running.left_out;
  co_return result;
}

}  // namespace cluster
