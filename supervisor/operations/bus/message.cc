#include "supervisor/operations/bus/message.h"

#include <algorithm>

#include "supervisor/base/json/json.h"

namespace bus {

Result<MessagePtr> reply_to(sd_bus_message* call) {
  sd_bus_message* reply = nullptr;
  if (int r = sd_bus_message_new_method_return(call, &reply); r < 0) return fail_errno(-r, "make a reply");
  return MessagePtr(reply);
}

int append(sd_bus_message* to, const std::string& text) {
  return sd_bus_message_append(to, "s", valid_utf8(text).c_str());
}
int append(sd_bus_message* to, bool value) { return sd_bus_message_append(to, "b", static_cast<int>(value)); }
int append(sd_bus_message* to, uint32_t value) { return sd_bus_message_append(to, "u", value); }
int append(sd_bus_message* to, uint64_t value) { return sd_bus_message_append(to, "t", value); }
int append(sd_bus_message* to, double value) { return sd_bus_message_append(to, "d", value); }

int append(sd_bus_message* to, const std::vector<std::string>& list) {
  int r = sd_bus_message_open_container(to, 'a', "s");
  for (const auto& text : list)
    if (r >= 0) r = append(to, text);
  return r < 0 ? r : sd_bus_message_close_container(to);
}

int append(sd_bus_message* to, const executions::Counts& counts) {
  int r = sd_bus_message_open_container(to, 'a', "{st}");
  for (const auto& [name, count] : counts)
    if (r >= 0) r = sd_bus_message_append(to, "{st}", valid_utf8(name).c_str(), count);
  return r < 0 ? r : sd_bus_message_close_container(to);
}

int append(sd_bus_message* to, const std::map<std::string, executions::Counts>& groups) {
  int r = sd_bus_message_open_container(to, 'a', "{sa{st}}");
  for (const auto& [name, counts] : groups) {
    if (r >= 0) r = sd_bus_message_open_container(to, 'e', "sa{st}");
    if (r >= 0) r = append(to, name);
    if (r >= 0) r = append(to, counts);
    if (r >= 0) r = sd_bus_message_close_container(to);
  }
  return r < 0 ? r : sd_bus_message_close_container(to);
}

// For example "not_found" becomes org.warder.Warder1.Error.NotFound.
std::string error_name(Code code) {
  std::string name = "org.warder.Warder1.Error.";
  bool capital = true;
  for (char c : code_name(code)) {
    if (c != '_') name += capital ? static_cast<char>(c - 'a' + 'A') : c;
    capital = c == '_';
  }
  return name;
}

std::string error_text(const Error& error) {
  return valid_utf8(error.hint.empty() ? error.what : error.what + "; " + error.hint);
}

}  // namespace bus
