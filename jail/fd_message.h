// One SOCK_SEQPACKET message with descriptors (unix(7), SCM_RIGHTS), sent and received whole or not at all.
// Used by: jail/jailer/jailer.cc, jail/jailer/setup.cc, jail/jailer_client/jailer_client.cc,
// jail/jailer_client/jailer_start.cc.
#pragma once
#include <cstddef>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace jail {

// The most descriptors that the kernel carries in one message (SCM_MAX_FD).
constexpr int kMaxFdsOfMessage = 253;

// Never blocks when the socket is non-blocking. Errors: unavailable on EAGAIN, else internal.
Result<> send_message(int socket, const void* data, size_t size, const std::vector<int>& fds);
// Receives exactly `size` bytes and at most `max_fds` descriptors (close-on-exec). Waits if the socket blocks. `open`
// is false at end of file. Errors: internal for a message of another size or truncated descriptors; unavailable on
// EAGAIN.
struct Received {
  bool open = false;
  std::vector<Fd> fds;
};
Result<Received> receive_message(int socket, void* data, size_t size, int max_fds);

}  // namespace jail
