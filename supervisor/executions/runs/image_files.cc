#include "supervisor/executions/runs/image_files.h"

#include <algorithm>

#include "supervisor/base/base64.h"
#include "supervisor/base/media_type.h"

namespace runs {

void append_image_files(std::vector<jail::GuestImage>& images, const tenants::Workspace& workspace,
                        const tenants::Changes& changes) {
  size_t added = 0;
  for (const auto* list : {&changes.created, &changes.modified}) {
    for (const auto& name : list->paths) {
      if (added == kMaxImageFiles) return;
      auto dot = name.rfind('.');
      std::string ending = dot == std::string::npos ? "" : name.substr(dot);
      if (ending != ".png" && ending != ".jpg" && ending != ".jpeg" && ending != ".gif" && ending != ".webp") continue;
      auto path = RelativePath::parse(name);
      if (!path) continue;
      auto file = workspace.read(*path, 0, kMaxImageBytes);
      if (!file || file->more()) continue;
      auto type = image_type(file->bytes);
      if (type.empty()) continue;
      jail::GuestImage image{std::string(type), to_base64(file->bytes)};
      const auto is_same = [&](const jail::GuestImage& other) { return other.base64 == image.base64; };
      if (std::any_of(images.begin(), images.end(), is_same)) continue;  // the program also answered with it
      images.push_back(std::move(image));
      added++;
    }
  }
}

}  // namespace runs
