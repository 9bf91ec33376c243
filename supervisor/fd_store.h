// FdStore: descriptors that the service manager keeps for us while no warderd runs, and hands to the next one: each
// client's connection and its record (sd_notify(3) FDSTORE=1, FileDescriptorStoreMax= of the unit).
// Source of $NOTIFY_SOCKET: the service manager. Nothing here waits for it: what it does not take at once is sent when
// it does. It drops a connection by itself when the client leaves.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"

// A connection that an earlier warderd left with the service manager.
struct StoredConnection {
  std::string name;
  Fd socket, record;
};

class FdStore {
 public:
  // `taken`: what was there before us; new names differ. Errors: unavailable, there is no service manager.
  static Result<std::unique_ptr<FdStore>> open(Loop& loop, const std::vector<StoredConnection>& taken);
  // From now on both are kept. Returns what ends that; nothing when the service manager is too far behind.
  std::function<void()> keep(int socket, int record);
  // What ends the keeping of a connection that was taken. The store must outlive its call.
  std::function<void()> forget(std::string name);
  // Done when everything was handed over. One waiter at a time.
  Task<> flushed();

  // The number in a name that keep() gave; nothing for any other name.
  static std::optional<unsigned> number_in(const std::string& name);

 private:
  struct Order {
    std::string text;
    std::vector<Fd> descriptors;
  };
  FdStore(Loop& loop, AsyncFd socket, unsigned next) : socket_(std::move(socket)), scope_(loop), next_(next) {}
  void send(Order order);
  bool send_first();
  Task<> pump();

  AsyncFd socket_;
  std::deque<Order> queue_;
  std::shared_ptr<Event> empty_;
  Scope scope_;
  unsigned next_;
};
