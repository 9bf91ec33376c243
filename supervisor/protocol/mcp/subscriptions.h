// Subscriptions: which clients are notified of which changes, over all connections. A legacy client is notified of all
// lists from its `initialize` on, of the resources it subscribed to, and of the tasks that its calls became. A modern
// client is notified of the changes that its subscriptions/listen names; each notification has the id of that request.
// If a list changes often, each client gets the first notification at once, and further ones at most once a second.
// Source of changes: the program, by Server::lists_changed() and resource_updated(); the TaskStore. No call waits: a
// client that reads slowly loses notifications, as it loses progress. Used by: Server, Conversation.
// Errors: wishes of another form, or too many of them, are an RpcError (invalid_params). Notifications cannot fail.
#pragma once
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/protocol/mcp/connection_user.h"
#include "supervisor/protocol/mcp/jsonrpc.h"
#include "supervisor/protocol/tasks/task_store.h"

namespace mcp {

enum class Changed { tools, prompts, resources };  // the list that changed
constexpr size_t kMaxSubscribedUris = 256;         // in one subscription
constexpr size_t kMaxSubscribedTasks = 256;        // in one subscription

// Selects the connections to notify of a change, by their user data; an empty function: all connections.
using UserFilter = std::function<bool(const std::shared_ptr<ConnectionUser>& user)>;

// ResourceWatch: one resource that the program watches for a subscription. Destroying it ends the watch.
class ResourceWatch {
 public:
  virtual ~ResourceWatch() = default;
  ResourceWatch(const ResourceWatch&) = delete;
  ResourceWatch& operator=(const ResourceWatch&) = delete;

 protected:
  ResourceWatch() = default;
};

class Subscriptions {
 public:
  explicit Subscriptions(Loop& loop) : loop_(loop) {}
  struct Wishes {
    std::set<Changed> lists;
    std::set<std::string> uris;
    std::set<std::string> tasks;  // ids
  };
  // The subscription of one client. It ends with this object. The Subscriptions must outlive it.
  class [[nodiscard]] Interest {
   public:
    // `id`: the id of the subscriptions/listen request as JSON text; empty for a legacy client.
    Interest(Subscriptions& all, std::shared_ptr<ConnectionUser> user, std::string id,
             std::function<void(std::string)> send);
    ~Interest();
    Interest(const Interest&) = delete;
    Interest& operator=(const Interest&) = delete;
    Wishes wishes;
    // Called when the state of one of `wishes.tasks` has changed. It must return at once.
    std::function<void(const tasks::StoredTask& task)> task_changed;
    // Call it after `wishes.uris` changed: the program starts to watch the new URIs and stops to watch the removed
    // ones. `meta`: the _meta of the request that changed them.
    void watch(const Json& meta = {});
    // Sends one message of this subscription.
    void send(std::string_view method, std::string members) const;

   private:
    friend class Subscriptions;
    // The second after a notification about a list. Changes in that time are reported together when it ends.
    struct Quiet {
      bool lasts = false;
      bool changed = false;
      Deadline end;
    };
    void list_changed(Changed subject);
    Subscriptions& all_;
    std::shared_ptr<ConnectionUser> user_;
    std::string id_;
    std::function<void(std::string line)> send_;
    std::list<Interest*>::iterator position_;
    std::map<std::string, std::shared_ptr<ResourceWatch>> watches_;  // by URI
    std::map<Changed, Quiet> quiet_;
  };
  // Starts to watch a URI's resource for changes that the program would not see by itself. nullptr: it is not watched.
  using Watch = std::function<std::shared_ptr<ResourceWatch>(const std::shared_ptr<ConnectionUser>& user,
                                                             const Json& meta, const std::string& uri)>;
  void set_watch(Watch watch) { watch_ = std::move(watch); }

  void lists_changed(Changed subject, const UserFilter& concerned) const;
  void resource_updated(const std::string& uri, const UserFilter& concerned) const;
  void task_changed(const tasks::StoredTask& task) const;

 private:
  Loop& loop_;
  std::list<Interest*> interests_;
  Watch watch_;
};

// Reads the params of subscriptions/listen. `report`: the lists for which the server reports changes; wishes for other
// lists are left out. The ids of tasks are not checked. Errors: invalid_params.
tl::expected<Subscriptions::Wishes, RpcError> read_wishes(const Json& params, const std::set<Changed>& report);
// The members of the notification that acknowledges the wishes.
std::string write_watches(const Subscriptions::Wishes& wishes);
// Errors: invalid_params, the URI is no string, has more than 4096 bytes, or is one more than kMaxSubscribedUris.
tl::expected<void, RpcError> add_uri(Subscriptions::Wishes& wishes, const Json& uri);

}  // namespace mcp
