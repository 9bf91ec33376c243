// Message: owners for sd-bus's reference-counted objects (BusPtr, MessagePtr, SlotPtr), and functions that append
// values by type. See sd-bus(3). Used by: this folder.
#pragma once
#include <systemd/sd-bus.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/executions/statistics.h"

namespace bus {

struct Unref {
  void operator()(sd_bus* bus) const { sd_bus_close_unref(bus); }
  void operator()(sd_bus_message* message) const { sd_bus_message_unref(message); }
  void operator()(sd_bus_slot* slot) const { sd_bus_slot_unref(slot); }
};
using BusPtr = std::unique_ptr<sd_bus, Unref>;
using MessagePtr = std::unique_ptr<sd_bus_message, Unref>;
using SlotPtr = std::unique_ptr<sd_bus_slot, Unref>;

inline MessagePtr share(sd_bus_message* message) { return MessagePtr(sd_bus_message_ref(message)); }

// An empty reply to a call. Errors: internal.
Result<MessagePtr> reply_to(sd_bus_message* call);

// Each function appends one value of the D-Bus type named beside it. Text is made valid UTF-8. Negative result: -errno.
int append(sd_bus_message* to, const std::string& text);                                  // s
int append(sd_bus_message* to, bool value);                                               // b
int append(sd_bus_message* to, uint32_t value);                                           // u
int append(sd_bus_message* to, uint64_t value);                                           // t
int append(sd_bus_message* to, double value);                                             // d
int append(sd_bus_message* to, const std::vector<std::string>& list);                     // as
int append(sd_bus_message* to, const executions::Counts& counts);                         // a{st}
int append(sd_bus_message* to, const std::map<std::string, executions::Counts>& groups);  // a{sa{st}}

// The D-Bus error name of a code, and the text of an error with its remedy.
std::string error_name(Code code);
std::string error_text(const Error& error);

}  // namespace bus
