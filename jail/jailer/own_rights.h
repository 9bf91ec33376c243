// The jailer's own rights: it gives up all that its work does not need.
// Source: capabilities(7). Used by: jail/jailer/jailer.cc, once, at its start.
#pragma once
#include <cstdint>
#include <optional>

#include "supervisor/base/result.h"

namespace jail {

// Keeps the capabilities that orders need, and no others in any set. `group`: root's jailer takes this group and no
// other; nullopt: it stays in its groups. Errors: unavailable, when a needed capability is absent.
Result<> keep_needed_rights(std::optional<uint32_t> group);

}  // namespace jail
