// Account: counters and limits that all connections of one user (one principal) share, over all listening sockets.
// Accounts: finds the account of a principal. Owned by Server; used by Listener, Connection and Conversation. No
// errors.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "supervisor/base/loop_shares.h"
#include "supervisor/protocol/mcp/principal.h"
#include "supervisor/protocol/mcp/unread.h"

namespace mcp {

// `line_bytes` counts the buffers of lines that have not ended yet. `call_bytes` counts the values of requests that run
// or wait.
struct Account {
  size_t connections = 0;       // that send lines
  size_t http_connections = 0;  // see HttpEndpoint
  size_t line_bytes = 0;
  size_t max_line_bytes = 128 << 20;
  size_t call_bytes = 0;
  size_t max_call_bytes = 256 << 20;
  // The user's first connection creates `unread` and `loop` where they are nullptr.
  std::shared_ptr<UnreadAccount> unread;  // memory of answers that the user's clients have not read
  std::shared_ptr<LoopShare> loop;        // time of the event loop for the user's messages
};

class Accounts {
 public:
  explicit Accounts(std::shared_ptr<UnreadBudget> unread) : unread_(std::move(unread)) {}
  // The account of the principal with this name. A new account when no connection or request holds an earlier one.
  std::shared_ptr<Account> of(const Principal& principal) {
    const auto it = accounts_.find(principal.name());
    auto account = it == accounts_.end() ? nullptr : it->second.lock();
    if (!account) {
      std::erase_if(accounts_, [](const auto& item) { return item.second.expired(); });
      account = std::make_shared<Account>();
      account->unread = std::make_shared<UnreadAccount>(unread_);
      accounts_[principal.name()] = account;
    }
    return account;
  }

 private:
  std::shared_ptr<UnreadBudget> unread_;
  std::map<std::string, std::weak_ptr<Account>> accounts_;  // by Principal::name()
};

}  // namespace mcp
