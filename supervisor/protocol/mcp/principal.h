// Principal: who makes a request: a user of this machine, or the bearer of a token or JWT. Made once for each
// connection, or over TCP for each request, and copied into each request. Source: the kernel's credentials of the
// connected process (Listener); over TCP the token (TokenAuthenticator). Used by: Accounts, all handlers. No errors.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mcp {

// The peer process as the kernel reports it (SO_PEERCRED and SO_PEERGROUPS, unix(7)): the process that called
// connect(), with its credentials at that time.
struct PeerProcess {
  pid_t pid = 0;
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
  std::vector<gid_t> groups;  // supplementary
};

class Principal {
 public:
  // peer: a user of this machine, by a process of that user. token: the bearer of a token of that name. subject: the
  // subject of an identity provider, by a JWT. node: a principal of another node of the cluster.
  enum class Kind { none, peer, token, subject, node };

  // No principal: its name is empty, and no rule fits it.
  Principal() : data_(no_user()) {}
  // No moves: a principal that was moved away would have no data.
  Principal(const Principal&) = default;
  Principal& operator=(const Principal&) = default;
  explicit Principal(PeerProcess peer) {
    Data data;
    data.kind = Kind::peer;
    data.name = "uid:" + std::to_string(peer.uid);
    data.displayed = "user " + std::to_string(peer.uid);
    data.peer = std::move(peer);
    data_ = std::make_shared<const Data>(std::move(data));
  }
  static Principal of_token(const std::string& token) {
    Data data;
    data.kind = Kind::token;
    data.name = "token:" + token;
    data.displayed = "token " + token;
    data.token = token;
    return Principal(std::make_shared<const Data>(std::move(data)));
  }

  // `claim`: the value that rules may use for the tenant's name, without ']'; empty: absent. A subject with another
  // claim is another principal. The claim stands before the subject, which may contain any character.
  static Principal of_subject(const std::string& subject, const std::string& claim, const std::string& issuer) {
    Data data;
    data.kind = Kind::subject;
    data.name = "sub" + (claim.empty() ? "" : "[" + claim + "]") + ":" + subject + "@" + issuer;
    data.displayed = "subject " + subject;
    data.subject = subject;
    data.claim = claim;
    return Principal(std::make_shared<const Data>(std::move(data)));
  }

  // The tenant and the policy that another node has given to one of its principals.
  struct NodeTenant {
    std::string account, policy, policy_hash;
  };
  // The principal that another node calls `name`.
  static Principal of_node(const std::string& node, const std::string& name, NodeTenant tenant) {
    Data data;
    data.kind = Kind::node;
    data.name = "node:" + node + ":" + name;
    data.displayed = name + " of node " + node;
    data.tenant = std::move(tenant);
    return Principal(std::make_shared<const Data>(std::move(data)));
  }

  // Credentials that expire: they are refused from then on. No part of the name.
  void set_good_until(std::chrono::sys_seconds until) {
    change([&](Data& data) { data.good_until = until; });
  }
  const std::optional<std::chrono::sys_seconds>& good_until() const { return data_->good_until; }
  // The fingerprint of the key that signed the credentials. No part of the name.
  void set_key(std::string key) {
    change([&](Data& data) { data.key = std::move(key); });
  }
  const std::string& key() const { return data_->key; }

  Kind kind() const { return data_->kind; }
  // "uid:1000", "token:ci", "sub:ada@https://idp.example", "node:n1:token:ci": equal for all connections of the
  // principal, and for no other principal. The key of its account, and what records and lists show.
  const std::string& name() const { return data_->name; }
  // "user 1000", "token ci": for answers and log lines. Contains a space, so it differs from every tenant's name.
  const std::string& displayed() const { return data_->displayed; }
  // nullopt: the principal is no process of this machine.
  const std::optional<PeerProcess>& peer() const { return data_->peer; }
  // The token's name; empty: the principal has none.
  const std::string& token() const { return data_->token; }
  // The subject and tenant claim of a JWT (Kind::subject); otherwise empty.
  const std::string& subject() const { return data_->subject; }
  const std::string& claim() const { return data_->claim; }
  // The tenant for whom another node acts (Kind::node); otherwise empty.
  const NodeTenant& node_tenant() const { return data_->tenant; }
  // The ids of the peer process; -1, which no user and no process has: there is no peer.
  uid_t uid() const { return peer() ? peer()->uid : static_cast<uid_t>(-1); }
  pid_t pid() const { return peer() ? peer()->pid : -1; }

 private:
  struct Data {
    Kind kind = Kind::none;
    std::string name, displayed, token, subject, claim, key;
    NodeTenant tenant;
    std::optional<PeerProcess> peer;
    std::optional<std::chrono::sys_seconds> good_until;
  };
  explicit Principal(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  static const std::shared_ptr<const Data>& no_user() {
    static const auto empty = std::make_shared<const Data>();
    return empty;
  }
  template <class Change>
  void change(Change make) {
    Data changed = *data_;
    make(changed);
    data_ = std::make_shared<const Data>(std::move(changed));
  }

  std::shared_ptr<const Data> data_;  // shared by the copies: each idle stream has several; never nullptr
};

}  // namespace mcp
