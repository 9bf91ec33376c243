// Image files: pictures that a program left in its workspace, for the answer of execute_code. The name's ending selects
// the files, the first bytes decide. Source: tenants::Changes of the execution. Used by: code_execution.cc. A file that
// cannot be read is left out.
#pragma once
#include <vector>

#include "jail/image.h"
#include "supervisor/tenants/index/changes.h"
#include "supervisor/tenants/workspace.h"

namespace runs {

constexpr size_t kMaxImageFiles = 4;
constexpr size_t kMaxImageBytes = 1 << 20;  // of one image; larger images are only files

// Appends the created images, then the modified ones, up to the limits.
void append_image_files(std::vector<jail::GuestImage>& images, const tenants::Workspace& workspace,
                        const tenants::Changes& changes);

}  // namespace runs
