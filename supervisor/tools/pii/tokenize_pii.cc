#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/tools/pii/pii_tools.h"

namespace tools {
namespace {

constexpr size_t kMaxCallText = 1 << 20;  // bytes; a reply may have them three times, with JSON's escapes

Result<std::string> read_text(const Json& arguments, const char* name) {
  Fields in(arguments, name);
  TRY(std::string text, in.string("text", kMaxCallText));
  CHECKED(in.done());
  return text;
}

}  // namespace

Result<Json> tokenize_pii(policies::PiiVault& vault, const policies::PiiRules& rules, const Json& arguments,
                          WorkMeter& meter) {
  TRY(const std::string text, read_text(arguments, "tokenize_pii"));
  TRY(policies::Sanitized clean, policies::sanitize(text, *rules.detector, vault, meter));
  clean.tokens.merge(clean.escaped);  // so the map alone restores the text
  return Json{{"text", valid_utf8(clean.text)}, {"tokens", clean.tokens}};
}

Result<Json> detokenize_pii(policies::PiiVault& vault, const policies::PiiRules& rules, const Json& arguments,
                            WorkMeter& meter) {
  if (rules.restore == policies::PiiRules::Restore::no_user)
    return fail(Code::denied, "the policy does not allow code to restore personal data",
                "pass the map that tokenize_pii returned as `tokens`, or ask the administrator", "pii.restore");
  TRY(const std::string text, read_text(arguments, "detokenize_pii"));
  TRY(const std::string restored, policies::restore(text, vault, meter, kMaxCallText));
  return Json{{"text", valid_utf8(restored)}};
}

}  // namespace tools
