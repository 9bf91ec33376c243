#include "supervisor/tools/pii_tools.h"

namespace tools {
namespace {

class HidePii : public mcp::OutgoingTexts {
 public:
  // The vault is asked for when a text leaves: one that cannot be opened then withholds the answer.
  HidePii(std::string tenant, const policies::PiiRules& rules, PiiVaults& vaults)
      : tenant_(std::move(tenant)), rules_(rules), vaults_(vaults) {}

  Result<std::string> clean(std::string_view text) override {
    TRY(policies::PiiVault * vault, vaults_.of(tenant_, rules_.lifetime));
    policies::SanitizeOptions options;
    options.tokens = policies::SanitizeOptions::Tokens::keep;
    TRY(policies::Sanitized clean, policies::sanitize(text, *rules_.detector, *vault, options));
    return std::move(clean.text);
  }

  Result<> settle() override {
    TRY(policies::PiiVault * vault, vaults_.of(tenant_, rules_.lifetime));
    return vault->settle();
  }

 private:
  std::string tenant_;
  policies::PiiRules rules_;  // those that the request began with
  PiiVaults& vaults_;
};

}  // namespace

mcp::OutgoingOf outgoing_pii(PiiUserOf user_of, PiiVaults& vaults) {
  return [user_of = std::move(user_of),
          &vaults](const mcp::RequestContext& context) -> std::unique_ptr<mcp::OutgoingTexts> {
    const PiiUser user = user_of(context);
    if (user.rules.answers == policies::PiiRules::Answers::as_is) return nullptr;
    return std::make_unique<HidePii>(user.tenant, user.rules, vaults);
  };
}

}  // namespace tools
