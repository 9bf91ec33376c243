// SeccompProfile: which system calls the code of a jail may make. Everything not allowed answers EPERM.
// Source: policies/seccomp/*.json. Compiled here by libseccomp(3); loaded by jail-init in the runner, before it
// execs the interpreter, so a profile must allow execve.
// Errors: all that is wrong with a profile, naming rule, call and value.
#pragma once
#include <linux/filter.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/json_fwd.h"
#include "supervisor/base/result.h"

namespace policies {

// One argument's low 32 bits, masked, equal one of `values`. The kernel reads these arguments as int or unsigned int;
// comparing all 64 bits was a way around filters (CVE-2019-10063).
struct ArgumentTest {
  unsigned argument = 0;
  uint32_t mask = ~uint32_t{0};
  std::vector<uint32_t> values;
};

struct SeccompRule {
  std::string comment;  // who needs it
  std::vector<std::string> calls;
  std::vector<ArgumentTest> when;  // all of them; empty: always
};

struct SeccompProfile {
  std::string name;
  std::vector<SeccompRule> allow;
  std::vector<SeccompRule> missing;  // answer ENOSYS, as a kernel without them: programs then use what they used before
  std::vector<SeccompRule> kill;     // end the process with SIGSYS: outcome forbidden_call
  std::vector<SeccompRule> deny;  // EPERM like all the rest; there to say why, and to take back what `extends` allows
  std::string newest;             // the last call that was thought about; what came later answers ENOSYS
  bool log = false;               // refused calls go to the audit log (SECCOMP_FILTER_FLAG_LOG)
};

struct SeccompFilter {
  std::string profile;
  std::vector<sock_filter> program;
  uint32_t flags = 0;  // for seccomp(2)
};

// More than this the kernel and Plan do not take (BPF_MAXINSNS).
constexpr size_t kMaxFilterInstructions = 4096;

// `base` is the profile that the document's "extends" names, already read; nullptr without one.
tl::expected<SeccompProfile, std::vector<Error>> parse_seccomp(std::string name, const Json& document,
                                                               const SeccompProfile* base);
// A binary tree over the call numbers of this machine's architecture. Other architectures, x32 too, end the process.
// Errors: internal, from libseccomp; invalid when the profile makes more instructions than the kernel takes.
Result<std::vector<sock_filter>> compile_seccomp(const SeccompProfile& profile);
// SECCOMP_FILTER_FLAG_* that go with it.
uint32_t seccomp_flags(const SeccompProfile& profile);

// The value of a constant that profiles may name: "AF_UNIX", "CLONE_NEWUSER", "TIOCGWINSZ".
std::optional<uint32_t> seccomp_constant(std::string_view name);

}  // namespace policies
