#include "supervisor/tenants/privacy/pii_response_filter.h"

#include <variant>

#include "policies/limits.h"
#include "policies/pii/rules.h"
#include "policies/policy_parts.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/tenants/tenant.h"

namespace privacy {
namespace {

class HidePiiTexts : public mcp::TextFilter {
 public:
  HidePiiTexts(const policies::PiiRules& rules, policies::PiiVault& vault, WorkMeter& meter)
      : rules_(rules), vault_(vault), meter_(meter) {
    options_.tokens = policies::SanitizeOptions::Tokens::keep;
  }
  Result<std::string> redact(std::string_view text) override {
    TRY(policies::Sanitized clean, policies::sanitize(text, *rules_.detector, vault_, meter_, options_));
    return std::move(clean.text);
  }

 private:
  const policies::PiiRules& rules_;
  policies::PiiVault& vault_;
  WorkMeter& meter_;
  policies::SanitizeOptions options_;
};

class HidePii : public mcp::ResponseFilter {
 public:
  HidePii(tenants::Requester requester, PiiVaults& vaults, Work& work)
      : requester_(std::move(requester)), vaults_(vaults), work_(work) {}

  Task<Result<>> apply(Job job) override {
    CO_TRY(const auto vault,
           co_await vaults_.of(requester_.tenant->id(), policies::pii_of(*requester_.policy).lifetime));
    std::function<Result<std::monostate>(WorkMeter&)> redact =
        [vault, policy = requester_.policy, job = std::move(job)](WorkMeter& meter) -> Result<std::monostate> {
      HidePiiTexts filter(policies::pii_of(*policy), *vault, meter);
      CHECKED(job(filter));
      return std::monostate{};
    };
    Work::Owner owner{requester_.tenant->name(),
                      policies::limits_of(*requester_.policy).standard.json_bytes_per_second};
    CO_CHECKED(co_await work_.run(std::move(owner), 0, std::move(redact)));
    auto settled = co_await vault->settle();
    co_return settled;
  }

 private:
  tenants::Requester requester_;
  PiiVaults& vaults_;
  Work& work_;
};

// The filter of a request whose tenant is unknown: withholds every answer.
class WithholdingFilter : public mcp::ResponseFilter {
 public:
  explicit WithholdingFilter(Error why) : why_(std::move(why)) {}
  Task<Result<>> apply(Job) override { co_return tl::unexpected<Error>(why_); }

 private:
  Error why_;
};

}  // namespace

mcp::ResponseFilterOf pii_response_filter(tenants::RequesterOf requester_of, PiiVaults& vaults, Work& work) {
  return [requester_of = std::move(requester_of), &vaults,
          &work](const mcp::RequestContext& context) -> std::unique_ptr<mcp::ResponseFilter> {
    auto requester = requester_of(context);
    if (!requester) return std::make_unique<WithholdingFilter>(requester.error());
    if (policies::pii_of(*requester->policy).answers == policies::PiiRules::Answers::as_is) return nullptr;
    return std::make_unique<HidePii>(*std::move(requester), vaults, work);
  };
}

}  // namespace privacy
