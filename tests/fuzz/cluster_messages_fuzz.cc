// Messages between warderd and warder-node, and rows that other nodes send to a look: the name of a message, a newline,
// and its JSON. What is read and written again is read as the same.
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/cluster/link/node_messages.h"
#include "supervisor/cluster/link/node_numbers.h"
#include "supervisor/cluster/link/query_messages.h"
#include "supervisor/cluster/link/view_messages.h"

namespace {

using namespace cluster;

void require(bool holds) {
  if (!holds) std::abort();
}

// A row of a table must not control a terminal.
void require_printable(const Json& value) {
  if (value.is_string()) {
    for (const char c : value.get_ref<const std::string&>()) require(c >= ' ' && c <= '~');
  } else if (value.is_structured()) {
    for (const auto& item : value) require_printable(item);
  }
}

template <class T, class Read, class Write>
void read_twice(const Json& message, Read read, Write write, bool is_shown = false) {
  const auto first = read(message);
  if (!first) return require(!first.error().what.empty());
  const Json written = write(*first);
  if (is_shown) require_printable(written);
  const auto second = read(written);
  require(second.has_value() && write(*second) == written);
}

void check_look_order(const Json& message) {
  const auto order = read_query_order(message);
  if (!order) return;
  require(is_node_name(order->node));
  read_twice<QueryOrder>(message, read_query_order, write_query_order);
  if (order->accounts)
    require(!order->sees("Never") && (order->accounts->empty() || order->sees((*order->accounts)[0])));
}

void check_nodes(const Json& message) {
  const auto page = read_node_page(message);
  if (!page) return;
  require(page->nodes.size() <= 256);
  for (const NodeView& node : page->nodes)
    read_twice<NodeView>(write_node_view(node), read_node_view, write_node_view, true);
}

void check_homes(const Json& message) {
  const auto page = read_home_page(message);
  if (!page) return;
  require(page->homes.size() <= 256);
  for (const HomeView& home : page->homes) require(is_node_name(home.node) && home.epoch >= 1);
}

template <class T>
std::function<void(const Json&)> reads(Result<T> (*read)(const Json&)) {
  return [read](const Json& message) {
    const auto result = read(message);
    if (!result) require(!result.error().what.empty());
  };
}

const std::map<std::string, std::function<void(const Json&)>, std::less<>> kReaders = {
    {"look", check_look_order},
    {"ask", reads(read_ask)},
    {"execution",
     [](const Json& row) { read_twice<FarExecution>(row, read_far_execution, write_far_execution, true); }},
    {"policy", [](const Json& row) { read_twice<FarPolicy>(row, read_far_policy, write_far_policy, true); }},
    {"nodes", check_nodes},
    {"homes", check_homes},
    {"list_homes",
     [](const Json& request) { read_twice<HomeQuestion>(request, read_home_question, write_home_question); }},
    {"view", reads(read_after)},
    {"forgotten", [](const Json& report) { read_twice<ForgottenHomes>(report, read_forgotten, write_forgotten); }},
    {"forget_homes", reads(read_forgotten_account)},
    {"load", [](const Json& report) { read_twice<NodeLoad>(report, read_load, write_load); }},
    {"numbers", reads(read_numbers)},
    {"found", reads(read_home)},
    {"placed", reads(read_positions)},
    {"lease", reads(read_lease)},
    {"act",
     [](const Json& order) {
       read_twice<NodeClient>(
           order, [](const Json& m) { return read_node_client(m, "act"); }, write_node_client);
     }},
    {"take",
     [](const Json& order) {
       read_twice<Push>(
           order, [](const Json& m) { return read_push(m, "take"); }, write_push);
     }},
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t end = all.find('\n');
  if (end == all.npos) return 0;
  const auto reader = kReaders.find(all.substr(0, end));
  if (reader == kReaders.end()) return 0;
  if (const auto message = parse_json(std::string(all.substr(end + 1)))) reader->second(*message);
  return 0;
}
