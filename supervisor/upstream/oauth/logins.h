// Logins: the logins of persons at upstream servers, and the sources of tokens for all connections.
//   begin() --URL--> a person's browser --redirect--> the command line's loopback port --> finish()
// A login begins and ends in this daemon: state, PKCE verifier and client secret never leave it; the redirect carries a
// code that is useless without them.
// Source: D-Bus (supervisor/upstream/login_methods.cc), through UpstreamServers. Errors: invalid (the redirect), denied
// (the authorization server, or a redirect that does not belong to the login), not_found, exhausted, unavailable.
// Facts: RFC 6749 section 4.1, RFC 7636, RFC 8252, RFC 8707, RFC 9207.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/upstream/oauth/token_source.h"

namespace oauth {

// What a command line needs to show.
struct PendingLogin {
  std::string id;   // for finish()
  std::string url;  // for the browser
};

struct Logout {
  bool was_there = false;   // there was a login
  std::string not_revoked;  // why its tokens may still be good at the authorization server; empty: they are revoked
};

class Logins {
 public:
  explicit Logins(std::shared_ptr<LoginBook> book);
  ~Logins();

  LoginBook& book() { return *book_; }
  const LoginBook& book() const { return *book_; }
  // The same source for all connections with these names and settings.
  std::shared_ptr<TokenSource> source(const TokenTarget& target, const std::string& owner);
  // The login of that owner that fits the settings; nullptr: absent. For client_credentials always nullptr.
  const Tokens* login(const TokenTarget& target, const std::string& owner);

  // `redirect`: http://127.0.0.1:PORT/PATH. `scopes`: those of the settings if empty.
  Task<Result<PendingLogin>> begin(TokenTarget target, std::string owner, std::string redirect,
                                   std::vector<std::string> scopes);
  // `redirected`: the whole URL that the browser was sent to. A login can be finished once.
  Task<Result<>> finish(std::string id, LoginName name, std::string redirected);
  // Deletes the tokens here, and then revokes them at the authorization server, if that can be done within 5 s.
  Task<Result<Logout>> log_out(TokenTarget target, std::string owner);
  // The tenant is removed: its logins, too, also those at `targets` whose files cannot be read. The tokens for one of
  // `targets`, the servers that are configured, are also revoked at the authorization server, if that can be done
  // within 5 s.
  void forget_owner(const std::string& owner, const std::vector<TokenTarget>& targets);

 private:
  struct Pending;
  // Revokes the tokens of a deleted login.
  static Task<Result<>> revoke(std::shared_ptr<LoginBook> book, TokenTarget target, Tokens tokens);
  Task<> forget_all(std::shared_ptr<LoginBook> book, std::string owner, std::vector<TokenTarget> targets);
  static Task<> forget(std::shared_ptr<LoginBook> book, LoginName name, std::optional<TokenTarget> target);
  Result<> take_place(const std::string& id, std::shared_ptr<Pending> pending);
  Task<Result<std::string>> prepare(std::shared_ptr<Pending> pending, std::vector<std::string> scopes);

  std::shared_ptr<LoginBook> book_;
  std::map<std::string, std::shared_ptr<Pending>> pending_;  // by id
  struct Source {
    TokenTarget target;
    std::shared_ptr<TokenSource> source;
  };
  std::map<LoginName, Source> sources_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace oauth
