// Account: counters and limits that all connections of one user (uid) share, over all listening sockets.
// Accounts: finds the account of a uid. Owned by Server; used by Listener, Connection and Conversation. No errors.
#pragma once
#include <sys/types.h>

#include <map>
#include <memory>

#include "supervisor/base/loop_shares.h"
#include "supervisor/mcp/unread.h"

namespace mcp {

// `line_bytes` counts the buffers of lines that have not ended yet. `call_bytes` counts the values of requests that run
// or wait.
struct Account {
  size_t connections = 0;
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
  // The account of `uid`. A new account when no connection or request holds an earlier one.
  std::shared_ptr<Account> of(uid_t uid) {
    std::weak_ptr<Account>& known = accounts_[uid];
    auto account = known.lock();
    if (!account) {
      account = std::make_shared<Account>();
      account->unread = std::make_shared<UnreadAccount>(unread_);
      known = account;
    }
    return account;
  }

 private:
  std::shared_ptr<UnreadBudget> unread_;
  std::map<uid_t, std::weak_ptr<Account>> accounts_;
};

}  // namespace mcp
