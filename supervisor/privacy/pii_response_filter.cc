#include "supervisor/privacy/pii_response_filter.h"

#include "supervisor/mcp/context.h"
#include "supervisor/privacy/sanitize_in_turns.h"

namespace privacy {
namespace {

class HidePii : public mcp::ResponseFilter {
 public:
  // The vault is opened when the first text leaves. If it cannot be opened, the answer is withheld.
  HidePii(Loop& loop, tenants::Requester requester, PiiVaults& vaults)
      : loop_(loop), requester_(std::move(requester)), vaults_(vaults) {}

  // Answers of up to kTurn are left to redact().
  Task<> prepare(std::vector<std::string> texts) override {
    size_t bytes = 0;
    for (const std::string& text : texts) bytes += text.size() + kEach;
    if (bytes <= kTurn) co_return;
    const auto opened = co_await ready();
    if (!opened) co_return;
    policies::SanitizeOptions options;
    options.tokens = policies::SanitizeOptions::Tokens::keep;
    size_t spent = 0;
    for (const std::string& text : texts) {
      if (cleaned_.contains(text)) continue;
      auto clean = co_await sanitize_in_turns(loop_, text, *rules().detector, *vault_, options);
      if (!clean) co_return;
      cleaned_.emplace(text, std::move(clean->text));
      spent += text.size() + kEach;
      if (spent <= kTurn) continue;
      spent = 0;
      co_await next_turn(loop_);
    }
  }

  Task<Result<>> ready() override {
    if (vault_) co_return Result<>{};
    CO_TRY(vault_, co_await vaults_.of(requester_.tenant->id(), rules().lifetime));
    co_return Result<>{};
  }

  Result<std::string> redact(std::string_view text) override {
    if (const auto known = cleaned_.find(text); known != cleaned_.end()) return known->second;
    if (!vault_) return fail(Code::internal, "bug: a text was filtered before the vault was open");
    policies::SanitizeOptions options;
    options.tokens = policies::SanitizeOptions::Tokens::keep;
    TRY(policies::Sanitized clean, policies::sanitize(text, *rules().detector, *vault_, options));
    return std::move(clean.text);
  }

  Task<Result<>> settle() override {
    CO_CHECKED(co_await ready());
    auto settled = co_await vault_->settle();
    co_return settled;
  }

 private:
  // Bytes that one turn of the loop may examine, and the cost of one text in addition to its bytes.
  static constexpr size_t kTurn = 64 << 10, kEach = 512;

  const policies::PiiRules& rules() const { return requester_.policy->pii; }

  Loop& loop_;
  tenants::Requester requester_;
  PiiVaults& vaults_;
  policies::PiiVault* vault_ = nullptr;                      // set by ready(); valid as long as the tenant
  std::map<std::string, std::string, std::less<>> cleaned_;  // redacted texts, from prepare()
};

// The filter of a request whose tenant is unknown: withholds every answer.
class Withhold : public mcp::ResponseFilter {
 public:
  explicit Withhold(Error why) : why_(std::move(why)) {}
  Result<std::string> redact(std::string_view) override { return tl::unexpected<Error>(why_); }
  Task<Result<>> settle() override { co_return tl::unexpected<Error>(why_); }

 private:
  Error why_;
};

}  // namespace

mcp::ResponseFilterOf pii_response_filter(tenants::RequesterOf requester_of, PiiVaults& vaults) {
  return [requester_of = std::move(requester_of),
          &vaults](const mcp::RequestContext& context) -> std::unique_ptr<mcp::ResponseFilter> {
    auto requester = requester_of(context);
    if (!requester) return std::make_unique<Withhold>(requester.error());
    if (requester->policy->pii.answers == policies::PiiRules::Answers::as_is) return nullptr;
    return std::make_unique<HidePii>(context.loop, *std::move(requester), vaults);
  };
}

}  // namespace privacy
