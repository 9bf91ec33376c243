#include "jail/init/capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>

namespace jail::init {
namespace {

constexpr int kMaxCapabilities = 64;  // the bits of the two words; the kernel knows fewer

int outcome(long result) { return result < 0 ? errno : 0; }

}  // namespace

int set_capabilities(uint64_t mask) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  for (int word = 0; word < 2; word++)
    data[word].effective = data[word].permitted = data[word].inheritable = static_cast<uint32_t>(mask >> (32 * word));
  return outcome(syscall(SYS_capset, &header, data));
}

int limit_bounding_set(uint64_t mask) {
  for (int capability = 0; capability < kMaxCapabilities; capability++) {
    const int in_bounding_set = prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
    if (in_bounding_set < 0) return 0;  // the kernel knows no more capabilities
    if (in_bounding_set > 0 && !(mask & bit_of(capability)) && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0)
      return errno;
  }
  return 0;
}

int make_capabilities_inheritable() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (syscall(SYS_capget, &header, data) < 0) return errno;
  for (auto& word : data) word.inheritable = word.permitted;
  return outcome(syscall(SYS_capset, &header, data));
}

}  // namespace jail::init
