#include "policies/pii/rules.h"

#include "policies/checked.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"

namespace policies {
namespace {

constexpr int64_t kMinuteS = 60, kTenYearsS = 3653LL * 24 * 3600;

// Reads each pattern alone, so that an error names its key.
void read_patterns(const Json& object, PiiOptions& options, Checked& in) {
  if (!object.is_object()) return in.wrong("patterns", "not an object of names and expressions");
  for (const auto& [name, expression] : object.items()) {
    const std::string path = in.path_of("patterns") + "." + printable(name, 40);
    if (!expression.is_string()) {
      in.wrong_at(path, "not a string");
      continue;
    }
    PiiPattern pattern{name, expression.get<std::string>()};
    if (auto good = PiiDetector::check(pattern); !good) {
      in.wrong_at(path, good.error().what);
    } else {
      options.patterns.push_back(std::move(pattern));
    }
  }
}

}  // namespace

const std::shared_ptr<const PiiDetector>& PiiRules::every_type() {
  static const auto created = PiiDetector::make({}).value();
  return created;
}

PiiRules read_pii_rules(const Json& object, std::vector<Error>& problems) {
  Checked in(object, "pii", problems);
  PiiRules rules;
  if (in.one_of("answers", {"as_is", "sanitised"}) == "sanitised") rules.answers = PiiRules::Answers::sanitised;
  const std::string restore = in.one_of("restore", {"nobody", "code", "agents"});
  if (restore == "code") rules.restore = PiiRules::Restore::code;
  if (restore == "agents") rules.restore = PiiRules::Restore::agents;
  rules.lifetime = std::chrono::seconds(in.integer("lifetime_s", kMinuteS, kTenYearsS));
  PiiOptions options;
  options.types = in.strings_or("types", {});
  options.allowed = in.strings_or("allowed", {});
  if (const Json* patterns = in.find("patterns")) read_patterns(*patterns, options, in);
  in.done();
  if (rules.answers == PiiRules::Answers::sanitised && rules.restore == PiiRules::Restore::agents)
    in.wrong(
        "restore",
        "\"agents\" contradicts answers \"sanitised\", which would replace the answers of restore_pii by tokens again");
  if (!in.good() || (options.types.empty() && options.patterns.empty() && options.allowed.empty())) return rules;
  auto detector = PiiDetector::make(options);
  if (detector) {
    rules.detector = *std::move(detector);
  } else {
    in.wrong("types", detector.error().what);
  }
  return rules;
}

}  // namespace policies
