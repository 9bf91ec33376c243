// sanitize_in_turns(): replaces personal data in a long text without blocking the loop. Used by: call_pii.cc,
// pii_response_filter.cc, supervisor/tools/pii. Errors: exhausted: the vault is full.
#pragma once
#include <string_view>

#include "policies/pii/tokens.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"

namespace privacy {

// Like policies::sanitize(), but gives up the loop's turn after every 4 steps of a Sanitizer, of about 1 ms each, so
// that other clients are served. All arguments must outlive the task.
Task<Result<policies::Sanitized>> sanitize_in_turns(Loop& loop, std::string_view text,
                                                    const policies::PiiDetector& detector, policies::PiiVault& vault,
                                                    const policies::SanitizeOptions& options);

}  // namespace privacy
