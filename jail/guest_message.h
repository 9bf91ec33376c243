// GuestMessage: what a runner says, once its program runs: a call of its code's, or the result of all of it
// (jail/guest/README.md). Source: the guest channel; the code may have written it itself, so only what has the right
// type is taken, and nothing is believed. Errors: invalid, in the words of the outcome `protocol`.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "jail/image.h"
#include "supervisor/base/json_value.h"
#include "supervisor/base/json_work.h"
#include "supervisor/base/loop_shares.h"
#include "supervisor/base/result.h"

namespace jail {

struct GuestCall {
  Json id;  // an integer, to be sent back as it is
  std::string name;
  Json arguments = Json::object();
  std::optional<Error> refused;  // why it is not done: it came without its arguments, which were too many
};

// What a call is answered.
struct CallReply {
  CallReply() = default;
  CallReply(Json result, size_t length = 0) : value(std::move(result)), bytes(length) {}
  Json value;
  size_t bytes = 0;  // of its text, about; 0: not known, and it has few values
};

struct GuestResult {
  std::optional<int> status;  // 0 to 255, that the runner is about to exit with
  std::optional<Json> value;
  std::string value_type;
  uint64_t read_bytes = 0;
  bool failed = false;  // an exception was not caught
  std::string error, traceback;
  std::optional<int> error_number;
  std::vector<GuestImage> images;
};

using GuestMessage = std::variant<GuestCall, GuestResult>;

// The same of its text. What its values take beside it is bounded before they are built. Touches nothing but its
// argument: any thread may run it.
Result<GuestMessage> read_guest_text(std::string_view text);
Result<GuestMessage> read_guest_message(Json message);
// The same when its owner's share in the loop has a turn. What is not read quickly is read beside the loop.
Task<Result<GuestMessage>> read_guest_text(JsonWork& work, JsonWork::Owner owner, LoopShare& share, std::string text);

constexpr size_t kMostCallValueBytes = 8 << 20;     // some 65,000 arrays, or 170,000 numbers
constexpr size_t kMostResultValueBytes = 64 << 20;  // an array of the most numbers that 1 MiB holds takes 24 MiB

}  // namespace jail
