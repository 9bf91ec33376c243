// FdStore: descriptors that the service manager holds while no warderd runs, and passes to the next warderd: for each
// client its connection and its record (sd_notify(3) FDSTORE=1, FileDescriptorStoreMax= of the unit).
// Source: $NOTIFY_SOCKET, set by the service manager. Used by: supervisor/daemon/client_doors.cc, service_manager.cc.
// No function blocks: a message that the service manager does not take at once is queued. The service manager drops a
// connection itself when the client leaves.
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
  // `connections`: the connections from an earlier warderd; new names differ from theirs. Errors: unavailable, there is
  // no service manager.
  static Result<std::unique_ptr<FdStore>> open(Loop& loop, const std::vector<StoredConnection>& connections);
  // Stores both descriptors from now on. Returns the function that removes them; nullptr when 4096 messages already
  // wait for the service manager, or no descriptor is free.
  std::function<void()> keep(int socket, int record);
  // The function that removes a connection of `connections` from the store. The store must outlive the function's call.
  std::function<void()> forget(std::string name);
  // Done when every message was sent. One waiter at a time.
  Task<> flushed();

  // The number in a name that keep() gave; nullopt for any other name.
  static std::optional<unsigned> number_in(const std::string& name);

 private:
  struct StoreMessage {
    std::string text;
    std::vector<Fd> descriptors;
  };
  FdStore(Loop& loop, AsyncFd socket, unsigned next) : socket_(std::move(socket)), scope_(loop), next_(next) {}
  void send(StoreMessage order);
  bool send_first();
  Task<> pump();

  AsyncFd socket_;
  std::deque<StoreMessage> queue_;
  std::shared_ptr<Event> empty_;
  Scope scope_;
  unsigned next_;
};
