// GuestMessage: one message of a runner after its program began: a call that the code makes, or the program's result
// (jail/guest/README.md).
// Source: the guest channel. The code may have written the message itself: only values of the right type are taken, and
// no value is trusted. Used by: jail/execution/execution_talk.cc, jail/zygote.cc. Errors: invalid; the text becomes the
// message of the outcome `protocol`.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "jail/image.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/loop_shares.h"
#include "supervisor/base/result.h"
#include "supervisor/base/work.h"

namespace jail {

struct GuestCall {
  Json id;  // an integer; it is sent back unchanged
  std::string name;
  Json arguments = Json::object();
  std::optional<Error> refused;  // why the call is not made: its arguments were too many, and were not read
};

// CallReply: the answer to a call: a value, or the JSON text of one.
struct CallReply {
  CallReply() = default;
  CallReply(Json result, size_t length = 0) : value(std::move(result)), bytes(length) {}
  static CallReply of_text(std::string json) {
    CallReply reply;
    reply.bytes = json.size();
    reply.text = std::move(json);
    return reply;
  }
  Json value;
  std::string text;  // empty: `value` counts
  size_t bytes = 0;  // rough length of the value's text; 0: unknown, the value is small
};

// ValueForm: how a value was stored that was too large for a message: as JSON, or as the text that it is.
enum class ValueForm { none, json, text };

struct GuestResult {
  std::optional<int> status;  // 0 to 255; the runner is about to exit with it
  std::optional<Json> value;
  ValueForm form = ValueForm::none;  // of a value that was sent in parts
  std::string value_type;
  uint64_t read_bytes = 0;
  bool failed = false;  // an exception was not caught
  std::string error, traceback;
  std::optional<int> error_number;
  std::vector<GuestImage> images;
};

using GuestMessage = std::variant<GuestCall, GuestResult>;

// Parses the text of a message. The memory that its values would take is bounded before they are built. The function
// touches nothing but its argument: any thread may run it.
Result<GuestMessage> read_guest_text(std::string_view text);
Result<GuestMessage> read_guest_message(Json message);
// The same, in the owner's turn on the loop. A text that takes long to parse is parsed beside the loop.
Task<Result<GuestMessage>> read_guest_text(Work& work, Work::Owner owner, LoopShare& share, std::string text);

constexpr std::string_view kKeepValueCall = "keep_value";  // its argument `part`: the next part of a large value
constexpr uint64_t kMaxKeptValueBytes = 64 << 20;
constexpr size_t kMaxCallValueBytes = 8 << 20;     // some 65,000 arrays, or 170,000 numbers
constexpr size_t kMaxResultValueBytes = 64 << 20;  // an array of the most numbers that 1 MiB holds takes 24 MiB

}  // namespace jail
