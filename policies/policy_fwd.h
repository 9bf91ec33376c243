// The names of what a policy and its store are, for headers that only pass them on.
#pragma once

namespace policies {

struct Policy;         // policies/policy.h
struct SeccompFilter;  // policies/seccomp.h
class Store;           // policies/store.h

}  // namespace policies
