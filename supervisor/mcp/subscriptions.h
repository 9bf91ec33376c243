// Subscriptions: who wants to hear of which changes, over all connections. Legacy clients hear of lists from their
// `initialize` on, and of the resources they subscribed to; modern ones what their subscriptions/listen asks for, each
// message with the id of that request. Of a list that changes often, each client hears at once, then once a second.
// Source of changes: the program, by Server::lists_changed() and resource_updated(). Nothing here waits: a client that
// reads slowly loses notifications, as it loses progress.
#pragma once
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/mcp/jsonrpc.h"

namespace mcp {

enum class Changed { tools, prompts, resources };  // whose list
constexpr size_t kMostSubscribedUris = 256;        // of one subscription

// Whom a change concerns, by the user data of their connections; empty: everybody.
using Concerned = std::function<bool(const std::shared_ptr<void>& user)>;

class Subscriptions {
 public:
  explicit Subscriptions(Loop& loop) : loop_(loop) {}
  struct Wishes {
    std::set<Changed> lists;
    std::set<std::string> uris;
  };
  // One client's interest; ends with this object, which the subscriptions must outlive.
  class [[nodiscard]] Interest {
   public:
    // `id`: JSON text of the request that asked (modern); empty for a legacy client.
    Interest(Subscriptions& all, std::shared_ptr<void> user, std::string id, std::function<void(std::string)> send);
    ~Interest();
    Interest(const Interest&) = delete;
    Interest& operator=(const Interest&) = delete;
    Wishes wishes;
    // After the URIs have changed: has the program watch those that are new, and no more those that are gone. `meta`:
    // the _meta of the request that asked.
    void watch(const Json& meta = {});
    // Sends one message of this subscription.
    void send(std::string_view method, std::string members) const;

   private:
    friend class Subscriptions;
    // After a message about a list: further changes of it are told together.
    struct Quiet {
      bool lasts = false;
      bool changed = false;
      Deadline end;
    };
    void list_changed(Changed what);
    Subscriptions& all_;
    std::shared_ptr<void> user_;
    std::string id_;
    std::function<void(std::string line)> send_;
    std::list<Interest*>::iterator place_;
    std::map<std::string, std::shared_ptr<void>> watches_;  // by URI
    std::map<Changed, Quiet> quiet_;
  };
  // Begins to watch what a URI names, for changes that the program would not see by itself, until the result goes.
  using Watch =
      std::function<std::shared_ptr<void>(const std::shared_ptr<void>& user, const Json& meta, const std::string& uri)>;
  void set_watch(Watch watch) { watch_ = std::move(watch); }

  void lists_changed(Changed what, const Concerned& concerned) const;
  void resource_updated(const std::string& uri, const Concerned& concerned) const;

 private:
  Loop& loop_;
  std::list<Interest*> interests_;
  Watch watch_;
};

// What the params of subscriptions/listen ask for, of what is told at all; and the same as members, to acknowledge it.
// Errors: invalid_params.
tl::expected<Subscriptions::Wishes, RpcError> read_wishes(const Json& params, const std::set<Changed>& told);
std::string wishes_members(const Subscriptions::Wishes& wishes);
// Errors: invalid_params, a URI too long or one too many.
tl::expected<void, RpcError> add_uri(Subscriptions::Wishes& wishes, const Json& uri);

}  // namespace mcp
