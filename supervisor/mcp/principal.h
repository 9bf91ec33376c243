// Principal: who makes a request. Made once for each connection, and copied into each of its requests.
// Source: the kernel's credentials of the connected process (Listener). Used by: Accounts, all handlers. No errors.
#pragma once
#include <sys/types.h>

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
  enum class Kind { peer };  // a user of this machine, by a process of that user

  // No principal: its name is empty, and no rule fits it.
  Principal() = default;
  explicit Principal(PeerProcess peer)
      : name_("uid-" + std::to_string(peer.uid)), shown_("user " + std::to_string(peer.uid)), peer_(std::move(peer)) {}

  Kind kind() const { return kind_; }
  // "uid-1000": equal for all connections of the principal, and for no other principal. The key of its account.
  const std::string& name() const { return name_; }
  // "user 1000": for answers and log lines. Contains a space, so it differs from every tenant's name.
  const std::string& shown() const { return shown_; }
  // nullopt: the principal is no process of this machine.
  const std::optional<PeerProcess>& peer() const { return peer_; }
  // The ids of the peer process; -1: there is none.
  uid_t uid() const { return peer_ ? peer_->uid : static_cast<uid_t>(-1); }
  pid_t pid() const { return peer_ ? peer_->pid : -1; }

 private:
  Kind kind_ = Kind::peer;
  std::string name_, shown_;
  std::optional<PeerProcess> peer_;
};

}  // namespace mcp
