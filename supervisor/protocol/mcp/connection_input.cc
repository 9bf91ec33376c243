#include "supervisor/protocol/mcp/connection_input.h"

#include <algorithm>
#include <cstring>

namespace mcp {

namespace {
constexpr size_t kFreeLineBytes = 64 << 10;  // a line buffer up to this size is not charged to the account
}

std::span<char> ConnectionInput::space() {
  const auto space = lines.space();
  const size_t now = lines.capacity() > kFreeLineBytes ? lines.capacity() : 0;
  if (now > charged_ && account_->line_bytes - charged_ + now > account_->max_line_bytes) return {};
  account_->line_bytes += now - charged_;
  charged_ = now;
  return space;
}

std::string_view ConnectionInput::unhandled() const {
  const std::string_view rest = lines.buffered();
  if (!large) return rest;
  return {large->text.data(), static_cast<size_t>(rest.data() + rest.size() - large->text.data())};
}

void ConnectionInput::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto space = lines.space();
    const size_t part = std::min(space.size(), bytes.size());
    std::memcpy(space.data(), bytes.data(), part);
    lines.commit(part);
    bytes.remove_prefix(part);
  }
}

}  // namespace mcp
