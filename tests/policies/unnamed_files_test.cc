// What the instructions in front of a profile answer where no project quota counts files without a name.
#include "policies/unnamed_files.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <sys/syscall.h>

#include <cerrno>

#include "tests/catch.h"
#include "tests/policies/bpf_evaluator.h"

#if defined(__x86_64__)
namespace {

uint32_t on_file_call(long number, const Arguments& arguments = {}, uint32_t arch = AUDIT_ARCH_X86_64) {
  return answer_before_allow(policies::refuse_unnamed_files(), number, arguments, arch);
}

uint32_t open_file(uint64_t flags) { return on_file_call(SYS_open, {0x1000, flags, 0600}); }
uint32_t open_at(uint64_t flags) { return on_file_call(SYS_openat, {3, 0x1000, flags, 0600}); }

}  // namespace

TEST_CASE("a file without a name is not supported", "[seccomp]") {
  for (const uint64_t flags : {uint64_t{O_TMPFILE | O_RDWR}, uint64_t{O_TMPFILE | O_WRONLY | O_EXCL | O_CLOEXEC},
                               kHigh | O_TMPFILE | O_RDWR, uint64_t{(O_TMPFILE & ~O_DIRECTORY) | O_RDWR}}) {
    CHECK(open_file(flags) == kUnsupported);
    CHECK(open_at(flags) == kUnsupported);
  }
}

TEST_CASE("files with names and folders are the profile's matter", "[seccomp]") {
  for (const uint64_t flags : {uint64_t{O_RDONLY}, uint64_t{O_RDWR | O_CREAT | O_EXCL}, uint64_t{O_DIRECTORY},
                               uint64_t{O_PATH | O_DIRECTORY | O_NOFOLLOW}, uint64_t{O_WRONLY | O_TRUNC | O_CLOEXEC}}) {
    CHECK(open_file(flags) == kAllow);
    CHECK(open_at(flags) == kAllow);
  }
  // The same bits in other arguments and calls.
  CHECK(on_file_call(SYS_open, {O_TMPFILE, 0, O_TMPFILE}) == kAllow);
  CHECK(on_file_call(SYS_openat, {O_TMPFILE, O_TMPFILE, 0, O_TMPFILE}) == kAllow);
  CHECK(on_file_call(SYS_read, {O_TMPFILE, O_TMPFILE, O_TMPFILE}) == kAllow);
  CHECK(on_file_call(SYS_openat, {3, 0x1000, O_TMPFILE}, AUDIT_ARCH_I386) == kAllow);
}
#endif
