// GuestImage: a picture that a program returned.
// Source: the guest's result message, which may hold any value. Used by: jail/talk/guest_message.cc.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/json/json_fwd.h"

namespace jail {

struct GuestImage {
  std::string mime;
  std::string base64;
};

// The first eight images of the message; nullopt if one has no Base64 data, or a type that clients do not show.
std::optional<std::vector<GuestImage>> read_images(const Json& message);

}  // namespace jail
