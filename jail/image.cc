#include "jail/image.h"

#include <algorithm>
#include <iterator>

#include "supervisor/base/json/json_members.h"
#include "supervisor/base/json/json_value.h"

namespace jail {
namespace {

constexpr size_t kMaxImages = 8;
constexpr std::string_view kMimes[] = {"image/png", "image/jpeg", "image/gif", "image/webp"};
constexpr char kBase64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";

}  // namespace

std::optional<std::vector<GuestImage>> read_images(const Json& message) {
  std::vector<GuestImage> images;
  auto list = message.find("images");
  if (list == message.end() || !list->is_array()) return images;
  for (const auto& image : *list) {
    if (images.size() == kMaxImages || !image.is_object()) break;
    GuestImage read{text_member(image, "mime"), text_member(image, "data")};
    const bool is_image = std::find(std::begin(kMimes), std::end(kMimes), read.mime) != std::end(kMimes);
    if (!is_image || read.base64.empty() || read.base64.find_first_not_of(kBase64) != std::string::npos)
      return std::nullopt;
    images.push_back(std::move(read));
  }
  return images;
}

}  // namespace jail
