// ConnectionInput: the bytes of one connection that were read from its socket and not handled, split into lines. Their
// memory is charged to the user's account.
// Used by: Connection. No errors.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "supervisor/base/line_splitter.h"
#include "supervisor/protocol/mcp/account.h"

namespace mcp {

class ConnectionInput {
 public:
  ConnectionInput(size_t max_line, std::shared_ptr<Account> account) : lines(max_line), account_(std::move(account)) {}
  ~ConnectionInput() { account_->line_bytes -= charged_; }
  ConnectionInput(const ConnectionInput&) = delete;
  ConnectionInput& operator=(const ConnectionInput&) = delete;

  LineSplitter lines;
  std::optional<LineSplitter::Item> large;  // the line to parse beside the loop, now or next

  // LineSplitter::space(), charged; empty: the user's lines would take too much memory.
  std::span<char> space();
  // All bytes that were not handled: a large line on the thread comes first.
  std::string_view unhandled() const;
  // Adds bytes that another process had read.
  void add(std::string_view bytes);

 private:
  std::shared_ptr<Account> account_;
  size_t charged_ = 0;  // bytes of the buffer of `lines` that are charged to the account
};

}  // namespace mcp
