#include "supervisor/cluster/link/rule_fetch.h"

#include <sys/socket.h>

#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/unix_socket.h"
#include "supervisor/cluster/link/first_line.h"
#include "supervisor/cluster/link/node_messages.h"
#include "supervisor/cluster/trust/rule_store.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kRuleLimit = 10s;  // of one rule
constexpr auto kRulesLimit = 60s;

// The bytes of the next rule; 0: there are no more.
Result<size_t> read_rule_line(const std::string& line) {
  TRY(const Json message, parse_json(line));
  if (message.is_object() && message.size() == 1 && message.contains("end")) return size_t{0};
  const auto rule = message.is_object() ? message.find("rule") : message.end();
  if (rule == message.end() || message.size() != 1) return fail(Code::invalid, "no message \"rule\"");
  Fields in(*rule, "rule");
  TRY(const int64_t bytes, in.integer("bytes", 1, kMaxRuleText));
  CHECKED(in.done());
  return static_cast<size_t>(bytes);
}

}  // namespace

Task<Result<std::vector<std::string>>> fetch_rules(Loop& loop, std::string socket) {
  CO_TRY(Fd created, connect_unix(socket, SOCK_STREAM));
  CO_TRY(AsyncFd node, AsyncFd::adopt(loop, std::move(created)));
  const Deadline late(loop, kRulesLimit, [&node] { ::shutdown(node.get(), SHUT_RDWR); });
  std::string question = dump_json({{"rules", Json::object()}}) + "\n";
  const bool is_requested = co_await send_all(node, std::move(question));
  if (!is_requested) co_return fail(Code::unavailable, "warder-node closed the connection");
  std::vector<std::string> rules;
  size_t all = 0;
  for (;;) {
    CO_TRY(const std::string line, co_await read_first_line(loop, node, kMaxLine, kRuleLimit));
    CO_TRY(const size_t bytes, read_rule_line(line));
    if (bytes == 0) co_return rules;
    all += bytes;
    if (rules.size() > kMaxStoredRules || all > kMaxStoredRuleBytes + kMaxRuleText)
      co_return fail(Code::exhausted, "warder-node sends too many rules");
    CO_TRY(std::string text, co_await read_exactly(node, bytes));
    rules.push_back(std::move(text));
  }
}

}  // namespace cluster
