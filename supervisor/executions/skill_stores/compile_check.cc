#include "supervisor/executions/skill_stores/compile_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "jail/execution/execution.h"
#include "jail/execution/outcome.h"
#include "policies/policy.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/log.h"
#include "supervisor/base/random.h"
#include "supervisor/executions/jail_spec.h"
#include "supervisor/tenants/tenant.h"

namespace skill_stores {
namespace {

using namespace std::chrono_literals;

constexpr auto kCheckLimit = 5000ms;
constexpr size_t kMaxMessageBytes = 400;  // bytes of the compiler's message

constexpr char kPython[] = R"(
import keyword
name, source, result = context_vars["name"], context_vars["code"], {}
if keyword.iskeyword(name):
    result = {"message": f"'{name}' is a keyword of Python and cannot be imported"}
else:
    try:
        compile(source, "skill", "exec", dont_inherit=True)
    except SyntaxError as e:
        words = ("const ", "let ", "function ", "=>", "module.exports", "exports.", "require(")
        other = '; for JavaScript call it with language="javascript"' if any(map(source.__contains__, words)) else ""
        result = {"line": e.lineno, "message": e.msg + other, "text": (e.text or "").strip()}
    except (ValueError, RecursionError, MemoryError, OverflowError) as e:
        result = {"message": str(e) or type(e).__name__}
)";

// As node --check does for a CommonJS module.
constexpr char kJavaScript[] = R"(
try {
  require('vm').compileFunction(context_vars.code, ['exports', 'require', 'module', '__filename', '__dirname'],
                                {filename: 'skill'});
  return {};
} catch (e) {
  const [first, text] = String(e.stack).split('\n');
  const isPython = /^[ \t]*(?:def \w+\(|class \w+[:(]|from \w+ import |import \w+$|print\()/m.test(context_vars.code);
  const hint = /'export'|import statement/.test(e.message) && !isPython ? '; use require() and module.exports'
    : isPython ? '; for Python call it with language="python"' : '';
  return {line: Number(/^skill:(\d+)/.exec(first)?.[1]), message: e.message + hint, text: text?.trim()};
}
)";

std::string shown_text(const Json& object, const char* key) {
  return printable(text_member(object, key), kMaxMessageBytes);
}

}  // namespace

Result<> read_verdict(const jail::Report& report) {
  if (report.outcome != jail::Outcome::ok || !report.value || !report.value->is_object())
    return fail(Code::invalid,
                fmt::format("the skill cannot be compiled: {}",
                            printable(report.message.empty() ? report.error : report.message, kMaxMessageBytes)),
                "make the skill smaller, or nest its code less deeply");
  const Json& verdict = *report.value;
  const std::string message = shown_text(verdict, "message"), text = shown_text(verdict, "text");
  if (message.empty()) return {};
  std::string problem = "the skill does not compile: ";
  if (const uint64_t line = number_member(verdict, "line")) problem += fmt::format("line {}: ", line);
  problem += message;
  return fail(Code::invalid, std::move(problem), text.empty() ? "" : fmt::format("see: {}", text), "skills.compile");
}

Task<Result<>> check_skill(jail::Host& host, jail::Pool& pool, const tenants::Requester& user,
                           const skills::Draft& draft) {
  const policies::Policy& policy = *user.policy;
  const bool python = draft.language == skills::SkillLanguage::python;
  const auto language = python ? jail::Language::python : jail::Language::javascript;
  if (!policy.allows_language(jail::language_name(language)))
    co_return fail(Code::denied,
                   fmt::format("policy '{}' does not allow {}", policy.name, jail::language_name(language)),
                   "save the skill in an allowed language", "languages");
  policies::Limits limits = policy.limits.standard;
  limits.wall = std::min<std::chrono::milliseconds>(limits.wall, kCheckLimit);
  jail::Request request;
  request.id = "c" + random_hex(8);
  request.code = python ? kPython : kJavaScript;
  request.context_vars = dump_json({{"name", draft.name}, {"code", draft.code}});
  request.spec = executions::make_spec(policy, language, limits);
  request.tenant = user.tenant->name();
  request.pool = policy.pool;
  request.seccomp_profile = policy.seccomp;
  request.workspace.directory = user.tenant->workspace().directory();
  CO_TRY(jail::Report report, co_await jail::execute(host, pool, std::move(request)));
  co_return read_verdict(report);
}

}  // namespace skill_stores
