#include "supervisor/upstream/oauth/token_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/log.h"
#include "supervisor/upstream/authorization/challenge.h"
#include "supervisor/upstream/oauth/metadata.h"
#include "supervisor/upstream/oauth/token_requests.h"

namespace oauth {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kEarly = 30;         // seconds before its end, a token is renewed
constexpr auto kBetweenRenewals = 5s;  // so a server that refuses every token is no burden for others
constexpr size_t kMaxSent = 4;

bool is_ending(const Tokens& tokens) { return tokens.expires_at > 0 && tokens.expires_at - kEarly <= seconds_now(); }

}  // namespace

TokenSource::TokenSource(std::shared_ptr<LoginBook> book, TokenTarget target, std::string owner,
                         std::shared_ptr<TokenSource> former)
    : book_(std::move(book)), target_(std::move(target)), name_(target_.server, std::move(owner)) {
  if (former && former->is_renewing_) {
    former_ = std::move(former);
  } else if (former) {
    former_ = former->former_;
  }
}

Task<> TokenSource::end_of_renewal() {
  if (!is_renewing_) co_return;
  OneShot<> done(book_->loop());
  waiting_.push_back(done.resolver());
  co_await done;
}

// A renewal that a replaced source began: its tokens may be good for this one, too.
Task<> TokenSource::former_renewal() {
  while (const auto former = former_) {
    co_await former->end_of_renewal();
    if (former_ == former) former_ = former->former_;
  }
}

Error TokenSource::needs_login(std::string why) const {
  Error error{Code::unavailable, 0, std::move(why), "warder servers login " + target_.server, ""};
  if (is_client()) error.hint = "check `oauth` of the server: client_id, client_secret, issuer and scopes";
  return error;
}

std::string TokenSource::more_scopes_hint(const std::vector<std::string>& scopes) const {
  if (is_client()) return "add them to `oauth.scopes` of the server, if the daemon may have them, and reload";
  if (scopes.empty()) return "warder servers login " + target_.server + " --scope SCOPE, if you want to allow it";
  const Tokens* tokens = login();
  std::vector<std::string> all = tokens ? tokens->scopes : std::vector<std::string>();
  for (const auto& scope : scopes)
    if (std::find(all.begin(), all.end(), scope) == all.end()) all.push_back(scope);
  return fmt::format("warder servers login {} --scope '{}', if you want to allow it", target_.server, join_scopes(all));
}

// The configuration may have changed since the login: its tokens are for the former server, client or issuer. Servers
// of one origin may be of different people: the path counts, too.
const Tokens* TokenSource::login() const {
  const Tokens* tokens = book_->find(name_);
  if (!tokens || !is_resource_of(tokens->resource, target_.url)) return nullptr;
  const OAuthSettings& settings = target_.settings;
  if (!settings.issuer.empty() && !is_same_issuer(settings.issuer, tokens->issuer)) return nullptr;
  if (!settings.client_id.empty() && settings.client_id != tokens->client.id) return nullptr;
  return tokens;
}

const Tokens* TokenSource::current() const { return is_client() ? (own_ ? &*own_ : nullptr) : login(); }

std::string TokenSource::note_sent(std::string token) {
  if (std::find(sent_.begin(), sent_.end(), token) == sent_.end()) {
    if (sent_.size() >= kMaxSent) sent_.erase(sent_.begin());
    sent_.push_back(token);
  }
  return token;
}

Task<Result<std::string>> TokenSource::token() {
  co_await book_->ready();
  co_await former_renewal();
  const Tokens* tokens = current();
  if (tokens && !is_ending(*tokens)) co_return note_sent(tokens->access);
  if (!tokens && !is_client()) co_return tl::unexpected<Error>(needs_login("nobody has logged in to it"));
  std::string ending;
  if (tokens) ending = tokens->access;
  auto fresh = co_await renewed(std::move(ending));
  co_return fresh;
}

Task<Result<std::string>> TokenSource::renewed(std::string refused) {
  co_await former_renewal();
  const Tokens* tokens = current();
  if (tokens && tokens->access != refused && !is_ending(*tokens)) co_return note_sent(tokens->access);
  if (!is_renewing_) {
    const bool is_early = renewed_at_ != Monotonic::time_point() && Monotonic::now() - renewed_at_ < kBetweenRenewals;
    if (is_early && !last_) co_return tl::unexpected<Error>(last_.error());
    if (is_early) co_return tl::unexpected<Error>(needs_login("it refuses a new token"));
    is_renewing_ = true;
    book_->renew(renew(shared_from_this()));
  }
  co_await end_of_renewal();
  if (!last_) co_return tl::unexpected<Error>(last_.error());
  tokens = current();
  if (!tokens) co_return tl::unexpected<Error>(needs_login("nobody has logged in to it"));
  co_return note_sent(tokens->access);
}

Task<> TokenSource::renew(std::shared_ptr<TokenSource> source) {
  Result<> result;
  if (source->is_client()) {
    result = co_await source->renew_credentials();
  } else {
    result = co_await source->renew_login();
  }
  if (!result) log_warning("upstream server {}: no new token: {}", source->target_.server, result.error().what);
  source->last_ = std::move(result);
  source->renewed_at_ = Monotonic::now();
  source->is_renewing_ = false;
  for (const auto& item : std::exchange(source->waiting_, {})) item.resolve();
}

Task<Result<>> TokenSource::renew_login() {
  const Tokens* now = login();
  if (!now) co_return tl::unexpected<Error>(needs_login("nobody has logged in to it"));
  const Tokens former = *now;
  if (former.refresh.empty()) co_return tl::unexpected<Error>(needs_login("its login has ended"));
  CO_TRY(const auto http, book_->http());
  auto fresh = co_await tokens_by_refresh(*http, target_, former);
  now = login();
  const bool is_same = now && now->refresh == former.refresh;  // no new login or logout meanwhile
  if (!fresh) {
    Error error = std::move(fresh).error();
    if (error.rule == "invalid_grant") {
      if (is_same) (void)co_await book_->remove(name_);
      co_return tl::unexpected<Error>(needs_login("its login has ended: " + error.what));
    }
    error.rule.clear();
    if (error.hint.empty()) error.hint = needs_login("").hint;
    co_return tl::unexpected<Error>(std::move(error));
  }
  if (!is_same) co_return Result<>{};
  auto saved = co_await book_->keep(name_, *std::move(fresh));
  if (!saved)
    log_warning("upstream server {}: the renewed login is not stored: {}", target_.server, saved.error().what);
  co_return Result<>{};
}

Task<Result<>> TokenSource::renew_credentials() {
  CO_TRY(const auto http, book_->http());
  if (!discovered_) {
    CO_TRY(discovered_, co_await discover(*http, target_));
  }
  CO_TRY(std::string secret, co_await book_->read_secret(target_.settings.client_secret));
  CO_TRY(auto identity, configured_client(target_.settings, discovered_->server, std::move(secret)));
  auto fresh = co_await tokens_by_credentials(*http, target_, *discovered_, std::move(identity));
  if (!fresh) {
    discovered_.reset();  // the authorization server may have moved
    Error error = std::move(fresh).error();
    error.rule.clear();
    if (error.hint.empty()) error.hint = needs_login("").hint;
    co_return tl::unexpected<Error>(std::move(error));
  }
  own_ = *std::move(fresh);
  co_return Result<>{};
}

}  // namespace oauth
