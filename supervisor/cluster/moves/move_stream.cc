#include "supervisor/cluster/moves/move_stream.h"

#include <sodium.h>
#include <sys/socket.h>

#include <cerrno>

#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/log.h"
#include "supervisor/cluster/link/first_line.h"
#include "supervisor/cluster/link/node_messages.h"

namespace moves {
namespace {

constexpr int64_t kMaxOffered = int64_t{1} << 50;  // bytes

std::string shown_text(const Json& object, const char* key) { return printable(text_member(object, key), 300); }

}  // namespace

Json write_offer(const SnapshotOffer& offer) {
  char digits[2 * sizeof offer.vault_seal + 1] = "";
  if (offer.has_vault) sodium_bin2hex(digits, sizeof digits, offer.vault_seal.data(), offer.vault_seal.size());
  Json message = {{"snapshot", {{"bytes", offer.bytes}, {"sha256", offer.sha256}, {"vault", digits}}}};
  sodium_memzero(digits, sizeof digits);
  return message;
}

Result<SnapshotOffer> read_offer(const Json& message) {
  Fields in(message, "snapshot");
  SnapshotOffer offer;
  TRY(const int64_t bytes, in.integer("bytes", 1, kMaxOffered));
  offer.bytes = static_cast<uint64_t>(bytes);
  TRY(offer.sha256, in.string("sha256", 64));
  TRY(const std::string seal, in.string("vault", 64));
  CHECKED(in.done());
  offer.has_vault = !seal.empty();
  size_t got = 0;
  const bool is_key = sodium_hex2bin(offer.vault_seal.data(), offer.vault_seal.size(), seal.data(), seal.size(),
                                     nullptr, &got, nullptr) == 0 &&
                      got == offer.vault_seal.size();
  if (offer.has_vault && !is_key) return fail(Code::invalid, "snapshot.vault: no key");
  return offer;
}

Task<Result<>> send_bytes(Loop& loop, AsyncFd& socket, std::string bytes, std::chrono::milliseconds limit) {
  const Deadline late(loop, limit, [&socket] { ::shutdown(socket.get(), SHUT_RDWR); });
  const bool is_sent = co_await cluster::send_all(socket, std::move(bytes));
  if (!is_sent) co_return fail(Code::unavailable, "the connection to the other node ended");
  co_return Result<>{};
}

Task<Result<std::string>> receive_bytes(Loop& loop, AsyncFd& socket, size_t count, std::chrono::milliseconds limit) {
  const Deadline late(loop, limit, [&socket] { ::shutdown(socket.get(), SHUT_RDWR); });
  auto bytes = co_await cluster::read_exactly(socket, count);
  if (!bytes) co_return fail(Code::unavailable, "the connection ended before the whole workspace had come");
  co_return bytes;
}

Task<Result<>> send_message(Loop& loop, AsyncFd& socket, Json message) {
  std::string line = dump_json(message) + "\n";
  co_return co_await send_bytes(loop, socket, std::move(line));
}

Task<Result<Json>> read_message(Loop& loop, AsyncFd& socket, const char* name, std::chrono::milliseconds limit) {
  auto line = co_await cluster::read_first_line(loop, socket, cluster::kMaxLine, limit);
  if (!line) co_return fail(Code::unavailable, "the connection to the other node ended: " + line.error().what);
  CO_TRY(const Json message, parse_json(*line));
  if (message.is_object() && message.size() == 1) {
    const Json& content = message.begin().value();
    if (message.begin().key() == name && content.is_object()) co_return content;
    if (message.begin().key() == "refused" && content.is_object())
      co_return fail(Code::denied, shown_text(content, "why"), shown_text(content, "remedy"));
  }
  co_return fail(Code::invalid, "the other node sent an unknown message");
}

}  // namespace moves
