#include "supervisor/protocol/mcp/unread.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace mcp {

namespace {
constexpr size_t kForgetEvery = 64;  // destroyed events are removed whenever a multiple of this many wait
}  // namespace

void UnreadBudget::check_soon() {
  if (looking_) return;
  looking_ = std::make_shared<bool>(true);
  loop_.defer([this, due = std::weak_ptr<bool>(looking_)] {
    if (due.expired()) return;  // the budget is gone
    looking_.reset();
    inspect();
  });
}

// Gives up the largest share of each account far over its limit, then wakes accounts with room.
void UnreadBudget::inspect() {
  std::vector<std::shared_ptr<UnreadAccount>> accounts;
  for (UnreadAccount* account : accounts_)
    if (auto alive = account->weak_from_this().lock()) accounts.push_back(std::move(alive));
  for (const auto& account : accounts)
    if (account->is_far_over()) account->give_up_largest();
  if (bytes_ > 2 * limits_.daemon_bytes && !accounts.empty()) {
    const auto it = std::max_element(accounts.begin(), accounts.end(),
                                     [](const auto& a, const auto& b) { return a->bytes() < b->bytes(); });
    (*it)->give_up_largest();
  }
  for (const auto& account : accounts) account->wake();
}

UnreadAccount::~UnreadAccount() { budget_->accounts_.erase(this); }

bool UnreadAccount::is_over(double limits) const {
  if (bytes_ == 0) return false;
  const auto account_bytes = static_cast<size_t>(limits * static_cast<double>(budget_->limits_.account_bytes));
  const auto daemon_bytes = static_cast<size_t>(limits * static_cast<double>(budget_->limits_.daemon_bytes));
  return bytes_ >= account_bytes || (budget_->bytes_ >= daemon_bytes && bytes_ >= daemon_bytes / budget_->holders_);
}

bool UnreadAccount::is_far_over() const { return bytes_ > 2 * budget_->limits_.account_bytes; }

void UnreadAccount::change(size_t before, size_t after) {
  const bool was_holder = bytes_ > 0;
  bytes_ += after - before;
  budget_->bytes_ += after - before;
  if (was_holder && bytes_ == 0) budget_->holders_--;
  if (!was_holder && bytes_ > 0) budget_->holders_++;
  if (was_holder != (bytes_ > 0)) keep_listed();
  if (after < before || is_far_over() || budget_->bytes_ > 2 * budget_->limits_.daemon_bytes) budget_->check_soon();
}

void UnreadAccount::keep_listed() {
  if (bytes_ > 0 || !line_.empty()) {
    budget_->accounts_.insert(this);
  } else {
    budget_->accounts_.erase(this);
  }
}

void UnreadAccount::line_up(UnreadShare& share) {
  const bool first = line_.empty();
  leave_line(share);
  share.queue_position_ = {!share.has_read_, arrivals_++};
  line_.emplace(*share.queue_position_, &share);
  keep_listed();
  if (first) start_patience();
}

void UnreadAccount::leave_line(UnreadShare& share) {
  if (share.queue_position_) line_.erase(*share.queue_position_);
  share.queue_position_.reset();
}

UnreadShare* UnreadAccount::next_in_line() {
  while (!line_.empty()) {
    UnreadShare& share = *line_.begin()->second;
    while (!share.waiting_.empty() && share.waiting_.front().expired()) share.waiting_.pop_front();
    if (!share.waiting_.empty()) return &share;
    leave_line(share);
  }
  return nullptr;
}

// Checks the limit again after each event: a request that was woken may make its answer at once. Shares that have read
// are first in line: when there is no room for the first one, there is none for any.
void UnreadAccount::wake() {
  bool woken = false;
  while (UnreadShare* share = next_in_line()) {
    if (share->is_over()) break;
    const auto room = share->waiting_.front().lock();
    share->waiting_.pop_front();
    if (share->waiting_.empty()) {
      leave_line(*share);
    } else {
      line_up(*share);
    }
    room->fire();
    woken = true;
  }
  if (!next_in_line()) {
    patience_ = {};
    keep_listed();
  } else if (woken) {
    start_patience();
  }
}

void UnreadAccount::start_patience() {
  patience_ = Deadline(budget_->loop_, budget_->limits_.patience, [this] {
    if (!next_in_line()) return;
    give_up_largest();
    start_patience();
  });
}

void UnreadAccount::give_up_largest() {
  UnreadShare* largest = nullptr;
  for (UnreadShare* share : shares_)
    if (share->give_up_ && share->bytes_ > (largest ? largest->bytes_ : 0)) largest = share;
  if (largest) largest->give_up_();
}

UnreadShare::UnreadShare(std::shared_ptr<UnreadAccount> account, std::function<void()> give_up)
    : account_(std::move(account)), give_up_(std::move(give_up)) {
  account_->shares_.insert(this);
}

UnreadShare::~UnreadShare() {
  account_->leave_line(*this);
  set(0);
  account_->shares_.erase(this);
}

void UnreadShare::set(size_t bytes) {
  if (bytes == bytes_) return;
  if ((bytes < bytes_) != has_read_) {
    has_read_ = bytes < bytes_;
    if (queue_position_) account_->line_up(*this);
  }
  account_->change(std::exchange(bytes_, bytes), bytes);
}

void UnreadShare::wait_for_room(const std::shared_ptr<Event>& room) {
  if (waiting_.size() % kForgetEvery == 0) std::erase_if(waiting_, [](const auto& item) { return item.expired(); });
  waiting_.push_back(room);
  if (!queue_position_) account_->line_up(*this);
  if (!is_over()) account_->budget_->check_soon();
}

}  // namespace mcp
