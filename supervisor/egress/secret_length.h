// Bounds of a secret that the proxy adds to requests.
// Used by: egress_link.cc, which reads secrets; the service, which checks them; secret_filter.h.
#pragma once
#include <cstddef>

namespace egress {

inline constexpr size_t kMinSecretBytes = 8;  // hiding shorter ones would hide parts of ordinary words
inline constexpr size_t kMaxSecretBytes = 16 << 10;

}  // namespace egress
