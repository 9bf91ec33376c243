// Image files: pictures that a program left in its workspace, for the answer. Checked by content, not by name.
#pragma once
#include <vector>

#include "jail/execution.h"
#include "supervisor/tenants/changes.h"
#include "supervisor/tenants/workspace.h"

namespace tools {

constexpr size_t kMostImageFiles = 4;
constexpr size_t kMostImageBytes = 1 << 20;  // each; larger ones stay files

// Appends created and modified images of the workspace, as far as the limits allow.
void append_image_files(std::vector<jail::GuestImage>& images, const tenants::Workspace& workspace,
                        const tenants::Changes& changes);

}  // namespace tools
