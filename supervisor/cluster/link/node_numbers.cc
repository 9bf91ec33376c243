#include "supervisor/cluster/link/node_numbers.h"

#include <algorithm>

#include "supervisor/base/ascii.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/log.h"

namespace cluster {
namespace {

constexpr size_t kMaxFaults = 32;
constexpr int64_t kMaxCounted = int64_t{1} << 53;

Result<uint64_t> counted_in(Fields& fields, const char* key) {
  TRY(const int64_t count, fields.integer(key, 0, kMaxCounted));
  return static_cast<uint64_t>(count);
}

// The name of a fault becomes a label of metrics.
bool is_fault(const std::string& name) {
  return !name.empty() && name.size() <= 32 &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_lower(c) || c == '_'; });
}

constexpr std::array<std::pair<const char*, uint64_t NodeNumbers::*>, 5> kOrders = {{
    {"opened", &NodeNumbers::opened},
    {"refused_there", &NodeNumbers::refused_there},
    {"unreachable", &NodeNumbers::unreachable},
    {"opened_here", &NodeNumbers::opened_here},
    {"refused_here", &NodeNumbers::refused_here},
}};

}  // namespace

Json write_numbers(const NodeNumbers& numbers) {
  Json nodes = Json::object(), orders = Json::object();
  for (size_t i = 0; i < kNodeStates; i++) nodes[std::string(name_of(static_cast<NodeState>(i)))] = numbers.nodes[i];
  for (const auto& [key, member] : kOrders) orders[key] = numbers.*member;
  return {{"nodes", std::move(nodes)},
          {"homes", numbers.homes},
          {"connections", numbers.connections},
          {"bus_silent_us", numbers.bus_silent.count()},
          {"orders", std::move(orders)},
          {"refused", numbers.refused},
          {"trust_serial", numbers.trust_serial},
          {"trust_trouble", printable(numbers.trust_trouble, kMaxNumbersText)},
          {"bus", printable(numbers.bus, kMaxNumbersText)}};
}

Result<NodeNumbers> read_numbers(const Json& message) {
  Fields fields(message, "numbers");
  NodeNumbers numbers;
  const Json *nodes = fields.find("nodes"), *orders = fields.find("orders"), *refused = fields.find("refused");
  if (!nodes || !orders || !refused) return fail(Code::invalid, "numbers: nodes, orders or refused is missing");
  Fields in_nodes(*nodes, "numbers.nodes"), in_orders(*orders, "numbers.orders");
  for (size_t i = 0; i < kNodeStates; i++) {
    TRY(numbers.nodes[i], counted_in(in_nodes, std::string(name_of(static_cast<NodeState>(i))).c_str()));
  }
  CHECKED(in_nodes.done());
  for (const auto& [key, member] : kOrders) {
    TRY(numbers.*member, counted_in(in_orders, key));
  }
  CHECKED(in_orders.done());
  TRY(numbers.homes, counted_in(fields, "homes"));
  TRY(numbers.connections, counted_in(fields, "connections"));
  TRY(const uint64_t silent, counted_in(fields, "bus_silent_us"));
  TRY(numbers.trust_serial, counted_in(fields, "trust_serial"));
  TRY(const std::string trouble, fields.string("trust_trouble", 4 * kMaxNumbersText));
  TRY(const std::string bus, fields.string("bus", 4 * kMaxNumbersText));
  numbers.trust_trouble = printable(trouble, kMaxNumbersText);
  numbers.bus = printable(bus, kMaxNumbersText);
  numbers.bus_silent = std::chrono::microseconds(silent);
  CHECKED(fields.done());
  if (!refused->is_object() || refused->size() > kMaxFaults)
    return fail(Code::invalid, "numbers.refused: not an object of at most 32");
  for (const auto& [name, count] : refused->items()) {
    if (!is_fault(name) || !count.is_number_unsigned()) return fail(Code::invalid, "numbers.refused: not a count");
    numbers.refused[name] = count.get<uint64_t>();
  }
  return numbers;
}

}  // namespace cluster
