// Principal: who makes a request: a user of this machine, or the bearer of a token or JWT. Made once for each
// connection, or over TCP for each request, and copied into each request. Source: the kernel's credentials of the
// connected process (Listener); over TCP the token (TokenAuthenticator). Used by: Accounts, all handlers. No errors.
#pragma once
#include <sys/types.h>

#include <chrono>
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
  // subject of an identity provider, by a JWT.
  enum class Kind { none, peer, token, subject };

  // No principal: its name is empty, and no rule fits it.
  Principal() = default;
  explicit Principal(PeerProcess peer)
      : kind_(Kind::peer),
        name_("uid:" + std::to_string(peer.uid)),
        shown_("user " + std::to_string(peer.uid)),
        peer_(std::move(peer)) {}
  static Principal of_token(const std::string& token) {
    Principal bearer;
    bearer.kind_ = Kind::token;
    bearer.name_ = "token:" + token;
    bearer.shown_ = "token " + token;
    bearer.token_ = token;
    return bearer;
  }

  // `claim`: the value that rules may use for the tenant's name, without ']'; empty: none. A subject with another claim
  // is another principal. The claim stands before the subject, which may contain any character.
  static Principal of_subject(const std::string& subject, const std::string& claim, const std::string& issuer) {
    Principal bearer;
    bearer.kind_ = Kind::subject;
    bearer.name_ = "sub" + (claim.empty() ? "" : "[" + claim + "]") + ":" + subject + "@" + issuer;
    bearer.shown_ = "subject " + subject;
    bearer.subject_ = subject;
    bearer.claim_ = claim;
    return bearer;
  }

  // Credentials that expire: they are refused from then on. No part of the name.
  void set_good_until(std::chrono::sys_seconds until) { good_until_ = until; }
  const std::optional<std::chrono::sys_seconds>& good_until() const { return good_until_; }
  // The fingerprint of the key that signed the credentials. No part of the name.
  void set_key(std::string key) { key_ = std::move(key); }
  const std::string& key() const { return key_; }

  Kind kind() const { return kind_; }
  // "uid:1000", "token:ci", "sub:ada@https://idp.example": equal for all connections of the principal, and for no other
  // principal. The key of its account, and what records and lists show.
  const std::string& name() const { return name_; }
  // "user 1000", "token ci": for answers and log lines. Contains a space, so it differs from every tenant's name.
  const std::string& shown() const { return shown_; }
  // nullopt: the principal is no process of this machine.
  const std::optional<PeerProcess>& peer() const { return peer_; }
  // The token's name; empty: the principal has none.
  const std::string& token() const { return token_; }
  // Of Kind::subject; else empty.
  const std::string& subject() const { return subject_; }
  const std::string& claim() const { return claim_; }
  // The ids of the peer process; -1, which no user and no process has: there is none.
  uid_t uid() const { return peer_ ? peer_->uid : static_cast<uid_t>(-1); }
  pid_t pid() const { return peer_ ? peer_->pid : -1; }

 private:
  Kind kind_ = Kind::none;
  std::string name_, shown_, token_, subject_, claim_, key_;
  std::optional<PeerProcess> peer_;
  std::optional<std::chrono::sys_seconds> good_until_;
};

}  // namespace mcp
