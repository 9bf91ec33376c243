// The keys of this machine: a file, and during a change a second one, FILE.next. The trust record decides which key is
// in force, so a node changes its key when it gets the new record, and not before.
// Source: `warder cluster init`, `join`, `rotate`. Used by: warder-node, `warder cluster`. Errors: denied: the record
// names neither key; those of private_file.h.
#pragma once
#include <string>

#include "supervisor/cluster/trust/trust_record.h"

namespace cluster {

inline constexpr char kNextSuffix[] = ".next";

// `path`: of the file without the suffix. A missing FILE.next is no error.
Result<PrivateKey> load_own_key(const std::string& path, const TrustedNode& node);
Result<PrivateKey> load_authority_key(const std::string& path, const TrustRecord& record);

}  // namespace cluster
