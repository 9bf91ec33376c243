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

class Logins final : public LoginService {
 public:
  explicit Logins(std::shared_ptr<LoginBook> book);
  ~Logins();

  LoginBook& book() { return *book_; }
  std::shared_ptr<BearerTokens> source(const TokenTarget& target, const std::string& owner) override;
  std::optional<LoginEnd> login_of(const TokenTarget& target, const std::string& owner) override;
  size_t count_of(std::string_view server) const override { return book_->count_of(server); }
  std::vector<std::string> owners_of(std::string_view server) const override { return book_->owners_of(server); }

  Task<Result<PendingLogin>> begin(TokenTarget target, std::string owner, std::string redirect,
                                   std::vector<std::string> scopes) override;
  Task<Result<>> finish(std::string id, LoginName name, std::string redirected) override;
  Task<Result<Logout>> log_out(TokenTarget target, std::string owner) override;
  void forget_owner(const std::string& owner, const std::vector<TokenTarget>& targets) override;

 private:
  struct Pending;
  std::shared_ptr<TokenSource> token_source(const TokenTarget& target, const std::string& owner);
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
