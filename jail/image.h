// GuestImage: a picture that a program returned. Source: the guest's result message, which may hold anything.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/json_fwd.h"

namespace jail {

struct GuestImage {
  std::string mime;
  std::string base64;
};

// The first eight; nothing when one of them is no image of a kind that clients show.
std::optional<std::vector<GuestImage>> read_images(const Json& message);

}  // namespace jail
