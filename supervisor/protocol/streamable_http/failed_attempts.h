// FailedAttempts: requests over TCP that showed no valid credentials: counts them, says how long the answer to each one
// waits, and logs them at a bounded rate. The answer of an address waits longer the more often it fails. A waiting
// answer holds a connection and no thread; the number of waiting answers is bounded, in all and for each address.
// Requests with good credentials never wait. Behind a proxy all clients have the proxy's address, so they wait
// together.
// Used by: HttpEndpoint. The loop's thread only. No errors.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/clock.h"
#include "supervisor/protocol/streamable_http/authenticator.h"

namespace streamable_http {

struct AttemptLimits {
  std::chrono::milliseconds first_delay{100}, max_delay{5'000};  // doubled with each further attempt
  std::chrono::milliseconds forgiven{60'000};                    // an address without an attempt for so long
  std::chrono::milliseconds between_lines{60'000};               // of the log
  size_t addresses = 1024;
  size_t waiting = 256, waiting_of_address = 16;
};

class FailedAttempts {
 public:
  explicit FailedAttempts(const AttemptLimits& limits) : limits_(limits) {}
  FailedAttempts(const FailedAttempts&) = delete;
  FailedAttempts& operator=(const FailedAttempts&) = delete;

  struct Wait {
    std::chrono::milliseconds delay{0};
    std::shared_ptr<void> slot;  // of the waiting answer; given back by its destruction
  };
  // nullopt: so many answers wait already that the connection must end without one.
  std::optional<Wait> note(const std::string& address, const Denial& denial, Monotonic::time_point now);

  uint64_t count(DenialReason reason) const { return counts_[static_cast<size_t>(reason)]; }
  size_t addresses() const { return addresses_.size(); }
  size_t waiting() const { return *waiting_; }

 private:
  struct Address {
    uint32_t attempts = 0;
    std::shared_ptr<size_t> waiting = std::make_shared<size_t>(0);
    Monotonic::time_point last;
  };
  Address& address_of(const std::string& address, Monotonic::time_point now);
  void log(const std::string& address, const Denial& denial, Monotonic::time_point now);

  const AttemptLimits limits_;
  std::map<std::string, Address> addresses_;
  std::shared_ptr<size_t> waiting_ = std::make_shared<size_t>(0);  // in all; places outlive this object
  std::array<uint64_t, kDenialReasons> counts_{};
  std::optional<Monotonic::time_point> logged_;
  uint64_t unlogged_ = 0;
};

}  // namespace streamable_http
