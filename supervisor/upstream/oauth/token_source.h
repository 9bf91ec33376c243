// TokenSource: the bearer token for the requests to one upstream server, for one owner. It renews tokens: when they are
// about to end, or when the server refuses one. Requests at the same time share one renewal, which continues if its
// callers leave, and if this source is replaced by one with other settings: a rotated refresh token must not be lost,
// and no token must be used twice.
// Tokens of a person's login are stored (login_book.h), those by client_credentials are in memory alone.
// Made by: logins.cc. Used by: upstream/http_transport.cc. Errors: unavailable: no login, or no token can be had; the
// hint is the command that helps. No error has a part of a token.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/clock.h"
#include "supervisor/upstream/oauth/discovery.h"
#include "supervisor/upstream/oauth/login_book.h"

namespace oauth {

class TokenSource final : public BearerTokens, public std::enable_shared_from_this<TokenSource> {
 public:
  // `former`: the source of the same login that this one replaces; nullptr: absent.
  TokenSource(std::shared_ptr<LoginBook> book, TokenTarget target, std::string owner,
              std::shared_ptr<TokenSource> former = nullptr);
  TokenSource(const TokenSource&) = delete;

  Task<Result<std::string>> token() override;
  Task<Result<std::string>> renewed(std::string refused) override;
  const std::vector<std::string>& sent() const override { return sent_; }
  Error needs_login(std::string why) const override;
  std::string more_scopes_hint(const std::vector<std::string>& scopes) const override;
  // The login that fits the configuration; nullptr: absent.
  const Tokens* login() const;

 private:
  bool is_client() const { return target_.settings.grant == OAuthSettings::Grant::client_credentials; }
  const Tokens* current() const;
  std::string note_sent(std::string token);
  static Task<> renew(std::shared_ptr<TokenSource> source);
  Task<> end_of_renewal();
  Task<> former_renewal();
  Task<Result<>> renew_login();
  Task<Result<>> renew_credentials();

  std::shared_ptr<LoginBook> book_;
  const TokenTarget target_;
  const LoginName name_;
  std::optional<Tokens> own_;             // by client_credentials
  std::optional<Discovered> discovered_;  // for client_credentials
  std::vector<std::string> sent_;         // the last ones
  bool is_renewing_ = false;
  Result<> last_;  // renewal
  Monotonic::time_point renewed_at_{};
  std::vector<OneShot<>::Resolver> waiting_;
  std::shared_ptr<TokenSource> former_;  // while it renews the login
};

}  // namespace oauth
