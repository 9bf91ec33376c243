// Tokenising a long text without holding up the loop.
#pragma once
#include <string_view>

#include "policies/pii/tokens.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"

namespace privacy {

// policies::sanitize() with a turn of the loop after every millisecond or so: other clients are served meanwhile. What
// it is given must outlive the task.
Task<Result<policies::Sanitized>> sanitize_in_turns(Loop& loop, std::string_view text,
                                                    const policies::PiiDetector& detector, policies::PiiVault& vault,
                                                    const policies::SanitizeOptions& options);

}  // namespace privacy
