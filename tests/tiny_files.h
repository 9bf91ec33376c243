// TinyFiles: while it lives, the kernel lets no file of this process grow beyond 10 bytes, so that writes fail
// half-way.
#pragma once
#include <signal.h>
#include <sys/resource.h>

struct TinyFiles {
  rlimit old{};
  sighandler_t handler = ::signal(SIGXFSZ, SIG_IGN);
  TinyFiles() {
    ::getrlimit(RLIMIT_FSIZE, &old);
    const rlimit tiny = {10, old.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &tiny);
  }
  ~TinyFiles() {
    ::setrlimit(RLIMIT_FSIZE, &old);
    ::signal(SIGXFSZ, handler);
  }
  TinyFiles(const TinyFiles&) = delete;
};
