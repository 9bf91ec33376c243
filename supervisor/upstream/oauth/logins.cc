#include "supervisor/upstream/oauth/logins.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>

#include "supervisor/base/log.h"
#include "supervisor/base/random.h"
#include "supervisor/upstream/authorization/challenge.h"
#include "supervisor/upstream/oauth/token_requests.h"

namespace oauth {
namespace {

using namespace std::chrono_literals;

constexpr auto kLoginLimit = 10min;  // between begin() and finish()
constexpr size_t kMaxPending = 256, kMaxPendingOfOwner = 8;
constexpr size_t kRandomBytes = 32;
constexpr size_t kMaxRedirect = 16 << 10;

std::string base64url(const unsigned char* bytes, size_t size) {
  std::string text(sodium_base64_ENCODED_LEN(size, sodium_base64_VARIANT_URLSAFE_NO_PADDING), '\0');
  sodium_bin2base64(text.data(), text.size(), bytes, size, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
  text.pop_back();  // the NUL
  return text;
}

std::string random_text() {
  std::array<unsigned char, kRandomBytes> bytes;
  randombytes_buf(bytes.data(), bytes.size());
  return base64url(bytes.data(), bytes.size());
}

std::string s256(const std::string& verifier) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash;
  crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(verifier.data()), verifier.size());
  return base64url(hash.data(), hash.size());
}

bool is_equal(const std::string& a, const std::string& b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string parameter(const std::map<std::string, std::string>& query, const char* name) {
  const auto it = query.find(name);
  return it == query.end() ? std::string() : it->second;
}

Error refused_login(const std::map<std::string, std::string>& query) {
  std::string message = "the authorization server refuses the login: " + printable(parameter(query, "error"), 64);
  if (const auto why = parameter(query, "error_description"); !why.empty()) message += " (" + printable(why, 200) + ")";
  return Error{Code::denied, 0, std::move(message), "", ""};
}

}  // namespace

struct Logins::Pending {
  TokenTarget target;
  std::string owner, redirect, state, verifier;
  Discovered discovered;
  ClientIdentity identity;
  Monotonic::time_point since = Monotonic::now();
  bool was_started = false;  // its page is known
  bool is_used = false;      // its code was sent

  // The code, if the redirect belongs to this login.
  Result<std::string> code_of(const std::string& redirected) const {
    if (redirected.size() > kMaxRedirect || !redirected.starts_with(redirect + "?"))
      return fail(Code::invalid, "this is not the redirect of that login",
                  "give the whole URL of the page: " + redirect);
    TRY(const auto query, read_query(redirected));
    if (!is_equal(parameter(query, "state"), state))
      return fail(Code::denied, "the redirect does not belong to this login: its state is another one",
                  "begin again, and use the page that this login opens");
    const std::string iss = parameter(query, "iss");
    const bool has_iss = query.contains("iss");
    if ((has_iss || discovered.server.says_iss) && iss != discovered.server.issuer)
      return fail(Code::denied, "the redirect comes from another authorization server: its iss is " +
                                    (has_iss ? "'" + printable(iss, 200) + "'" : std::string("missing")));
    if (query.contains("error")) return tl::unexpected<Error>(refused_login(query));
    std::string code = parameter(query, "code");
    if (code.empty()) return fail(Code::invalid, "the redirect has no code");
    return code;
  }
};

Logins::Logins(std::shared_ptr<LoginBook> book) : book_(std::move(book)), tasks_(book_->loop()) {
  tasks_.spawn(book_->read());
}

Logins::~Logins() {
  book_->close();
  tasks_.cancel_all();
}

std::shared_ptr<TokenSource> Logins::token_source(const TokenTarget& target, const std::string& owner) {
  Source& item = sources_[{target.server, owner}];
  const bool is_same = item.source && item.target.url == target.url && item.target.settings == target.settings &&
                       item.target.authorities == target.authorities && item.target.headers == target.headers;
  if (!is_same) item = {target, std::make_shared<TokenSource>(book_, target, owner, std::move(item.source))};
  return item.source;
}

std::shared_ptr<BearerTokens> Logins::source(const TokenTarget& target, const std::string& owner) {
  return token_source(target, owner);
}

std::optional<LoginEnd> Logins::login_of(const TokenTarget& target, const std::string& owner) {
  if (target.settings.grant == OAuthSettings::Grant::client_credentials) return std::nullopt;
  const Tokens* tokens = token_source(target, owner)->login();
  if (!tokens) return std::nullopt;
  return LoginEnd{tokens->refresh.empty() ? static_cast<uint64_t>(tokens->expires_at) : 0};
}

// The place of one more login of `owner`. It is taken before the authorization server is asked: so nobody can make the
// daemon register many clients there.
Result<> Logins::take_place(const std::string& id, std::shared_ptr<Pending> pending) {
  const auto now = Monotonic::now();
  std::erase_if(pending_, [now](const auto& item) { return now - item.second->since > kLoginLimit; });
  const auto of_owner = std::count_if(pending_.begin(), pending_.end(),
                                      [&](const auto& item) { return item.second->owner == pending->owner; });
  if (static_cast<size_t>(of_owner) >= kMaxPendingOfOwner || pending_.size() >= kMaxPending)
    return fail(Code::exhausted, "too many logins were begun and not finished",
                "finish one of them, or log out, or try again in 10 minutes");
  pending_.emplace(id, std::move(pending));
  return {};
}

Task<Result<PendingLogin>> Logins::begin(TokenTarget target, std::string owner, std::string redirect,
                                         std::vector<std::string> scopes) {
  if (target.settings.grant == OAuthSettings::Grant::client_credentials)
    co_return fail(Code::invalid,
                   fmt::format("the daemon logs in to '{}' by itself (client_credentials)", target.server));
  CO_CHECKED(check_redirect(redirect));
  if (!std::all_of(scopes.begin(), scopes.end(), is_scope) || scopes.size() > 64)
    co_return fail(Code::invalid, "a scope has no blanks and no quotes");
  auto pending = std::make_shared<Pending>();
  pending->target = std::move(target);
  pending->owner = std::move(owner);
  pending->redirect = std::move(redirect);
  const std::string id = random_hex(16);
  CO_CHECKED(take_place(id, pending));
  auto page = co_await prepare(pending, std::move(scopes));
  if (!page) {
    pending_.erase(id);
    co_return tl::unexpected<Error>(std::move(page).error());
  }
  if (!pending_.contains(id)) co_return fail(Code::denied, "the login was ended by a logout", "begin again");
  pending->was_started = true;
  PendingLogin login{id, *std::move(page)};
  co_return login;
}

// The URL of the page on which the person logs in.
Task<Result<std::string>> Logins::prepare(std::shared_ptr<Pending> pending, std::vector<std::string> scopes) {
  const TokenTarget& target = pending->target;
  CO_TRY(const auto http, book_->http());
  CO_TRY(pending->discovered, co_await discover(*http, target));
  if (!scopes.empty()) pending->discovered.scopes = std::move(scopes);
  const AuthorizationServer& server = pending->discovered.server;
  if (server.authorization_endpoint.empty())
    co_return fail(Code::denied, "the authorization server has no authorization_endpoint: nobody can log in");
  if (!server.has_s256)
    co_return fail(Code::denied, "the authorization server does not say that it checks PKCE with S256",
                   "without it, a stolen code could be used: ask its operator for code_challenge_methods_supported");
  if (target.settings.client_id.empty()) {
    CO_TRY(pending->identity, co_await register_client(*http, target, pending->discovered, pending->redirect));
  } else {
    std::string secret;
    if (!target.settings.client_secret.empty()) {
      CO_TRY(secret, co_await book_->read_secret(target.settings.client_secret));
    }
    CO_TRY(pending->identity, configured_client(target.settings, server, std::move(secret)));
  }
  pending->state = random_text();
  pending->verifier = random_text();
  FormFields query{{"response_type", "code"},
                   {"client_id", pending->identity.id},
                   {"redirect_uri", pending->redirect},
                   {"code_challenge", s256(pending->verifier)},
                   {"code_challenge_method", "S256"},
                   {"state", pending->state},
                   {"resource", pending->discovered.resource}};
  if (!pending->discovered.scopes.empty()) query.emplace_back("scope", join_scopes(pending->discovered.scopes));
  co_return with_query(server.authorization_endpoint, query);
}

Task<Result<>> Logins::finish(std::string id, LoginName name, std::string redirected) {
  const auto it = pending_.find(id);
  const bool is_own = it != pending_.end() && it->second->target.server == name.first &&
                      it->second->owner == name.second && !it->second->is_used && it->second->was_started &&
                      Monotonic::now() - it->second->since <= kLoginLimit;
  if (!is_own) co_return fail(Code::not_found, "no such login is under way", "begin again");
  const auto pending = it->second;
  CO_TRY(std::string code, pending->code_of(redirected));
  pending->is_used = true;
  CO_TRY(const auto http, book_->http());
  CodeGrant grant{std::move(code), pending->verifier, pending->redirect};
  auto tokens =
      co_await tokens_by_code(*http, pending->target, pending->discovered, pending->identity, std::move(grant));
  // A logout, or the removal of the tenant, has taken the entry meanwhile.
  const bool is_wanted = std::erase_if(pending_, [&](const auto& item) { return item.second == pending; }) > 0;
  if (!is_wanted) co_return fail(Code::denied, "the login was ended by a logout before it was done", "begin again");
  if (!tokens) {
    tokens.error().rule.clear();
    co_return tl::unexpected<Error>(std::move(tokens).error());
  }
  auto saved = co_await book_->keep(std::move(name), *std::move(tokens));
  if (!saved)
    co_return tl::unexpected<Error>(
        std::move(saved).error().within("the login works until the daemon ends; it is not stored"));
  co_return Result<>{};
}

Task<Result<Logout>> Logins::log_out(TokenTarget target, std::string owner) {
  LoginName name(target.server, std::move(owner));
  std::erase_if(pending_, [&name](const auto& item) {
    return item.second->target.server == name.first && item.second->owner == name.second;
  });
  co_await book_->ready();
  Tokens former;
  if (const Tokens* tokens = book_->find(name)) former = *tokens;
  Logout done;
  CO_TRY(done.was_there, co_await book_->remove(std::move(name)));
  if (!done.was_there) co_return done;
  const auto revoked = co_await revoke(book_, std::move(target), std::move(former));
  if (!revoked) done.not_revoked = revoked.error().what;
  co_return done;
}

Task<Result<>> Logins::revoke(std::shared_ptr<LoginBook> book, TokenTarget target, Tokens tokens) {
  CO_TRY(const auto http, book->http());
  auto done = co_await revoke_tokens(*http, target, std::move(tokens));
  co_return done;
}

Task<> Logins::forget(std::shared_ptr<LoginBook> book, LoginName name, std::optional<TokenTarget> target) {
  const bool is_known = book->find(name) != nullptr;
  Tokens former;
  if (const Tokens* tokens = book->find(name)) former = *tokens;
  const std::string server = name.first;
  const auto removed = co_await book->remove(std::move(name));
  if (!removed) log_warning("a login of a removed tenant is not deleted: {}", removed.error().what);
  if (!removed || !*removed) co_return;
  Result<> revoked = fail(Code::unavailable, is_known ? "the server is not configured any more"
                                                      : "the file of the login could not be read");
  if (target && is_known) revoked = co_await revoke(book, *std::move(target), std::move(former));
  if (!revoked)
    log_warning("upstream server {}: the tokens of a removed tenant are not revoked: {}", server, revoked.error().what);
}

void Logins::forget_owner(const std::string& owner, const std::vector<TokenTarget>& targets) {
  std::erase_if(pending_, [&owner](const auto& item) { return item.second->owner == owner; });
  std::erase_if(sources_, [&owner](const auto& item) { return item.first.second == owner; });
  tasks_.spawn(forget_all(book_, owner, targets));
}

Task<> Logins::forget_all(std::shared_ptr<LoginBook> book, std::string owner, std::vector<TokenTarget> targets) {
  co_await book->ready();
  std::vector<LoginName> names = book->of_owner(owner);
  for (const TokenTarget& target : targets) {  // also the files that could not be read
    LoginName name(target.server, owner);
    if (!book->find(name)) names.push_back(std::move(name));
  }
  for (auto& name : names) {
    const auto target = std::find_if(targets.begin(), targets.end(), [&name](const TokenTarget& token_target) {
      return token_target.server == name.first;
    });
    tasks_.spawn(forget(book, std::move(name), target == targets.end() ? std::nullopt : std::optional(*target)));
  }
}

}  // namespace oauth
