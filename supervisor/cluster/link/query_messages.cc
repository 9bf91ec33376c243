#include "supervisor/cluster/link/query_messages.h"

#include <algorithm>
#include <utility>

#include "policies/names.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/cluster/link/node_messages.h"

namespace cluster {
namespace {

constexpr size_t kMaxQueryAccounts = 1000;
constexpr size_t kMaxName = 64, kMaxPrincipalBytes = 256;  // bytes
constexpr int64_t kMaxNumber = int64_t{1} << 53;

// Printable ASCII, so that no row controls a terminal.
Result<std::string> word_in(Fields& fields, const char* key, size_t max = kMaxName) {
  TRY(std::string word, fields.string(key, max));
  if (!std::all_of(word.begin(), word.end(), [](char c) { return c >= ' ' && c <= '~'; }))
    return fail(Code::invalid, fields.path_of(key) + ": not printable");
  return word;
}

Result<std::optional<uint64_t>> number_in(Fields& fields, const char* key) {
  std::optional<uint64_t> number;
  if (!fields.has(key)) return number;
  TRY(const int64_t read, fields.integer(key, 0, kMaxNumber));
  number = static_cast<uint64_t>(read);
  return number;
}

void put(Json& row, const char* key, const std::optional<uint64_t>& number) {
  if (number) row[key] = *number;
}

std::string printable_word(const std::string& text, size_t max) {
  std::string word = text.substr(0, max);
  for (char& c : word)
    if (c < ' ' || c > '~') c = '?';
  return word;
}

}  // namespace

std::string_view name_of(ClusterQueryKind kind) {
  return kind == ClusterQueryKind::executions ? "executions" : "policies";
}

Json write_ask(ClusterQueryKind kind) { return {{"ask", name_of(kind)}}; }

Result<ClusterQueryKind> read_ask(const Json& message) {
  Fields fields(message, "");
  TRY(const std::string kind, fields.one_of("ask", {"executions", "policies"}));
  CHECKED(fields.done());
  return kind == "executions" ? ClusterQueryKind::executions : ClusterQueryKind::policies;
}

bool QueryOrder::sees(std::string_view account) const {
  return !accounts || std::find(accounts->begin(), accounts->end(), account) != accounts->end();
}

Json write_query_order(const QueryOrder& order) {
  return {{"node", order.node}, {"accounts", order.accounts ? Json(*order.accounts) : Json("all")}};
}

Result<QueryOrder> read_query_order(const Json& check) {
  Fields fields(check, "look");
  QueryOrder order;
  TRY(order.node, fields.string("node", kMaxNodeName));
  if (!is_node_name(order.node)) return fail(Code::invalid, "look.node: not the name of a node");
  const Json* accounts = fields.find("accounts");
  CHECKED(fields.done());
  if (accounts && *accounts == "all") return order;
  if (!accounts || !accounts->is_array() || accounts->size() > kMaxQueryAccounts)
    return fail(Code::invalid, "look.accounts: neither all nor a list of at most 1,000");
  order.accounts.emplace();
  for (const Json& account : *accounts) {
    if (!account.is_string() || !policies::valid_name(account.get_ref<const std::string&>()))
      return fail(Code::invalid, "look.accounts: not the name of an account");
    order.accounts->push_back(account.get<std::string>());
  }
  return order;
}

Json write_far_execution(const FarExecution& execution) {
  Json row = {{"id", printable_word(execution.id, kMaxName)},
              {"tenant", execution.tenant},
              {"language", execution.language},
              {"workspace", execution.workspace},
              {"state", execution.state},
              {"policy", execution.policy},
              {"principal", printable_word(execution.principal, kMaxPrincipalBytes)},
              {"background", execution.is_background},
              {"shared", execution.is_shared},
              {"age_us", execution.age_us}};
  put(row, "wall_us", execution.wall_us);
  put(row, "cpu_us", execution.cpu_us);
  put(row, "memory_bytes", execution.memory_bytes);
  return row;
}

Result<FarExecution> read_far_execution(const Json& row) {
  Fields fields(row, "executions");
  FarExecution execution;
  TRY(execution.id, word_in(fields, "id"));
  TRY(execution.tenant, word_in(fields, "tenant"));
  TRY(execution.language, word_in(fields, "language"));
  TRY(execution.workspace, word_in(fields, "workspace"));
  TRY(execution.state, fields.one_of("state", {"waiting", "starting", "running", "frozen"}));
  TRY(execution.policy, word_in(fields, "policy"));
  TRY(execution.principal, word_in(fields, "principal", kMaxPrincipalBytes));
  TRY(execution.is_background, fields.boolean_or("background", false));
  TRY(execution.is_shared, fields.boolean_or("shared", false));
  TRY(const int64_t age, fields.integer("age_us", 0, kMaxNumber));
  execution.age_us = static_cast<uint64_t>(age);
  TRY(execution.wall_us, number_in(fields, "wall_us"));
  TRY(execution.cpu_us, number_in(fields, "cpu_us"));
  TRY(execution.memory_bytes, number_in(fields, "memory_bytes"));
  CHECKED(fields.done());
  if (!policies::valid_name(execution.tenant)) return fail(Code::invalid, "executions.tenant: not a name");
  return execution;
}

Json write_far_policy(const FarPolicy& policy) {
  return {{"name", policy.name},
          {"hash", policy.hash},
          {"version", policy.version},
          {"user_accounts", policy.user_accounts}};
}

Result<FarPolicy> read_far_policy(const Json& row) {
  Fields fields(row, "policies");
  FarPolicy policy;
  TRY(policy.name, word_in(fields, "name"));
  TRY(policy.hash, word_in(fields, "hash"));
  TRY(policy.version, word_in(fields, "version"));
  TRY(const int64_t users, fields.integer("user_accounts", 0, kMaxNumber));
  policy.user_accounts = static_cast<uint64_t>(users);
  CHECKED(fields.done());
  if (!policies::valid_name(policy.name)) return fail(Code::invalid, "policies.name: not a name");
  return policy;
}

}  // namespace cluster
