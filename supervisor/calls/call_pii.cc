#include "supervisor/calls/call_pii.h"

#include "supervisor/base/clock.h"
#include "supervisor/base/json.h"
#include "supervisor/privacy/sanitize_in_turns.h"

namespace calls {
namespace {

constexpr size_t kMaxRestoredText = 4 << 20;

constexpr std::chrono::milliseconds kPiiSlice{1};

Result<> restore_texts(Json& value, policies::PiiVault& vault) {
  if (value.is_string()) {
    TRY(const std::string text, policies::restore(value.get_ref<const std::string&>(), vault, kMaxRestoredText));
    value = valid_utf8(text);
  } else if (value.is_structured()) {
    for (Json& one : value) CHECKED(restore_texts(one, vault));
  }
  return {};
}

struct Work {
  Loop& loop;
  const policies::PiiDetector& detector;
  policies::PiiVault& vault;
  policies::SanitizeOptions options;
  Monotonic::time_point slice = Monotonic::now();
};

Task<Result<std::string>> tokenise_text(Work& work, const std::string& text) {
  CO_TRY(policies::Sanitized clean,
         co_await privacy::sanitize_in_turns(work.loop, text, work.detector, work.vault, work.options));
  if (Monotonic::now() - work.slice >= kPiiSlice) {  // many short texts can take long together
    co_await next_turn(work.loop);
    work.slice = Monotonic::now();
  }
  co_return valid_utf8(clean.text);
}

Task<Result<>> tokenise_texts(Work& work, Json& value) {
  if (value.is_string()) {
    CO_TRY(std::string text, co_await tokenise_text(work, value.get_ref<const std::string&>()));
    value = std::move(text);
  } else if (value.is_array()) {
    for (Json& one : value) {
      CO_CHECKED(co_await tokenise_texts(work, one));
    }
  } else if (value.is_object()) {
    Json changed = Json::object();
    for (auto member = value.begin(); member != value.end(); ++member) {
      CO_CHECKED(co_await tokenise_texts(work, member.value()));
      CO_TRY(const std::string name, co_await tokenise_text(work, member.key()));
      changed[name] = std::move(member.value());
    }
    value = std::move(changed);
  }
  co_return Result<>{};
}

}  // namespace

bool tokenises(const policies::CallRules& rules) {
  return rules.results == policies::CallRules::Results::tokenised || !rules.restore.empty();
}

Task<Result<>> restore_arguments(CallPii pii, std::string_view server, std::string_view tool, Json& arguments) {
  const policies::CallRules& rules = pii.policy.calls;
  if (rules.restore.empty() || !arguments.is_object()) co_return Result<>{};
  CO_TRY(policies::PiiVault * vault, co_await pii.vaults.of(pii.tenant, pii.policy.pii.lifetime));
  for (auto& [name, value] : arguments.items())
    if (rules.restores_into(server, tool, name)) CO_CHECKED(restore_texts(value, *vault));
  co_return Result<>{};
}

Task<Result<>> tokenise_result(Loop& loop, CallPii pii, Json& value) {
  if (!tokenises(pii.policy.calls)) co_return Result<>{};
  auto done = co_await tokenise_values(loop, pii, value);
  co_return done;
}

Task<Result<>> tokenise_values(Loop& loop, CallPii pii, Json& value) {
  CO_TRY(policies::PiiVault * vault, co_await pii.vaults.of(pii.tenant, pii.policy.pii.lifetime));
  policies::SanitizeOptions options;
  options.tokens = policies::SanitizeOptions::Tokens::keep;
  Work work{loop, *pii.policy.pii.detector, *vault, std::move(options)};
  CO_CHECKED(co_await tokenise_texts(work, value));
  auto settled = co_await vault->settle();
  co_return settled;
}

}  // namespace calls
