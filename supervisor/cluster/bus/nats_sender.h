// NatsSender: the thread that owns a NatsSession and does its jobs in order. Its destructor does not wait: jobs that
// have not begun are dropped, the thread ends the session and then itself. So no call of libnats can stop the loop.
// Used by: NatsCore. Errors of start(): internal, no thread can be made.
#pragma once
#include <chrono>
#include <functional>
#include <memory>

#include "supervisor/cluster/bus/nats_session.h"

namespace cluster {

class NatsSender {
 public:
  using Job = std::function<void(NatsSession&)>;

  // `max_bytes` bounds the jobs that have not begun, and so does a number of 65,536.
  static Result<std::unique_ptr<NatsSender>> start(std::shared_ptr<NatsHandover> handover, size_t max_bytes);
  ~NatsSender();
  NatsSender(const NatsSender&) = delete;

  // Queues a job of `bytes`. False: too many wait.
  [[nodiscard]] bool post(size_t bytes, Job job);
  // Queues a job that must not be refused, such as the end of a subscription.
  void post_always(Job job);

 private:
  struct Shared;
  explicit NatsSender(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  static void run(Shared& shared);
  std::shared_ptr<Shared> shared_;
};

}  // namespace cluster
