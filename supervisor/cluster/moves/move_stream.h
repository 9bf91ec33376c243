// The connection that brings a workspace to another node, once warder-node has opened it ("push" and "take",
// ../link/node_messages.h). The home sends
//   {"snapshot": {"bytes", "sha256", "vault"}}   vault: the key that its vault is sealed with, 64 hexadecimal digits,
//   or ""
// the other node answers {"go": {}}; the home sends that many bytes; the other node answers {"taken": {"epoch"}} when
// it is the home. Instead of any answer: {"refused": {"why", "remedy"}}, and then it does not become the home. The
// cipher of warder-node hides it from the bus. Used by: home_mover.cc, home_receiver.cc. Errors: unavailable: the
// connection ended; invalid: a wrong message.
#pragma once
#include <chrono>
#include <string>
#include <string_view>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"
#include "supervisor/tenants/master_key.h"

namespace moves {

constexpr size_t kPart = 1 << 20;               // bytes that are read or written at a time
constexpr std::chrono::seconds kPartLimit{60};  // for one part, while the other side writes the one before to its disk

struct SnapshotOffer {
  uint64_t bytes = 0;
  std::string sha256;
  bool has_vault = false;
  tenants::VaultKeys::Key vault_seal{};
};
Json write_offer(const SnapshotOffer& offer);
Result<SnapshotOffer> read_offer(const Json& message);

// Both are for at most a part. Errors also: unavailable: the limit is over; the socket is shut down then.
Task<Result<>> send_bytes(Loop& loop, AsyncFd& socket, std::string bytes, std::chrono::milliseconds limit = kPartLimit);
Task<Result<std::string>> receive_bytes(Loop& loop, AsyncFd& socket, size_t count, std::chrono::milliseconds limit);
Task<Result<>> send_message(Loop& loop, AsyncFd& socket, Json message);
// The content of the message with this name. Errors: also denied: the other side refused, with its reason.
Task<Result<Json>> read_message(Loop& loop, AsyncFd& socket, const char* name, std::chrono::milliseconds limit);

}  // namespace moves
