#include "supervisor/protocol/streamable_http/failed_attempts.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/log.h"

namespace streamable_http {
namespace {

// A place of a waiting answer: counted as long as it exists.
struct WaitingSlot {
  std::shared_ptr<size_t> in_all, of_address;
  WaitingSlot(std::shared_ptr<size_t> all, std::shared_ptr<size_t> own)
      : in_all(std::move(all)), of_address(std::move(own)) {
    ++*in_all, ++*of_address;
  }
  WaitingSlot(const WaitingSlot&) = delete;
  ~WaitingSlot() { --*in_all, --*of_address; }
};

}  // namespace

// The table is bounded: the address without an attempt for the longest time is forgotten.
FailedAttempts::Address& FailedAttempts::address_of(const std::string& address, Monotonic::time_point now) {
  const auto it = addresses_.find(address);
  if (it != addresses_.end()) {
    if (now - it->second.last > limits_.forgiven) it->second.attempts = 0;
    return it->second;
  }
  if (addresses_.size() >= limits_.addresses)
    addresses_.erase(std::min_element(addresses_.begin(), addresses_.end(),
                                      [](const auto& a, const auto& b) { return a.second.last < b.second.last; }));
  return addresses_[address];
}

std::optional<FailedAttempts::Wait> FailedAttempts::note(const std::string& address, const Denial& denial,
                                                         Monotonic::time_point now) {
  counts_[static_cast<size_t>(denial.reason)]++;
  log(address, denial, now);
  Address& from = address_of(address, now);
  from.last = now;
  const uint32_t doublings = std::min<uint32_t>(from.attempts++, 16);
  if (*waiting_ >= limits_.waiting || *from.waiting >= limits_.waiting_of_address) return {};
  return Wait{std::min(limits_.first_delay * (1 << doublings), limits_.max_delay),
              std::make_shared<WaitingSlot>(waiting_, from.waiting)};
}

// No part of what the client sent is logged. The name of a token is known only where the token was good once.
void FailedAttempts::log(const std::string& address, const Denial& denial, Monotonic::time_point now) {
  if (logged_ && now - *logged_ < limits_.between_lines) {
    unlogged_++;
    return;
  }
  log_warning("MCP over HTTP: a request from {} is refused: {}{}{}", address.empty() ? "a client" : address,
              denial_text(denial.reason), denial.name.empty() ? "" : fmt::format(" ({})", denial.name),
              unlogged_ > 0 ? fmt::format("; {} more were refused since the last such line", unlogged_) : "");
  logged_ = now;
  unlogged_ = 0;
}

}  // namespace streamable_http
