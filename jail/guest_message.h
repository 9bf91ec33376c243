// GuestMessage: what a runner says, once its program runs: a call of its code's, or the result of all of it
// (jail/guest/README.md). Source: the guest channel; the code may have written it itself, so only what has the right
// type is taken, and nothing is believed. Errors: invalid, in the words of the outcome `protocol`.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "jail/image.h"
#include "supervisor/base/result.h"

namespace jail {

struct GuestCall {
  nlohmann::json id;  // an integer, to be sent back as it is
  std::string name;
  nlohmann::json arguments = nlohmann::json::object();
};

struct GuestResult {
  std::optional<int> status;  // 0 to 255, that the runner is about to exit with
  std::optional<nlohmann::json> value;
  std::string value_type;
  uint64_t read_bytes = 0;
  bool failed = false;  // an exception was not caught
  std::string error, traceback;
  std::optional<int> error_number;
  std::vector<Image> images;
};

using GuestMessage = std::variant<GuestCall, GuestResult>;

Result<GuestMessage> read_guest_message(const nlohmann::json& message);

}  // namespace jail
