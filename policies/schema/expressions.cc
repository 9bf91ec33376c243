#include "policies/schema/expressions.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "supervisor/base/ascii.h"
#include "supervisor/base/log.h"

namespace policies {
namespace {

using Compiled = SchemaExpressions::Compiled;

// The compiled forms in use, the newest use first.
class ExpressionCache {
 public:
  std::optional<Result<Compiled>> find(const std::string& pattern) {
    std::lock_guard lock(mutex_);
    const auto it = by_pattern_.find(pattern);
    if (it == by_pattern_.end()) return {};
    entries_.splice(entries_.begin(), entries_, it->second);
    return it->second->result;
  }
  void add(const std::string& pattern, const Result<Compiled>& result, int64_t memory) {
    std::lock_guard lock(mutex_);
    if (by_pattern_.contains(pattern)) return;  // another thread was faster
    entries_.push_front({pattern, result, memory});
    by_pattern_.emplace(pattern, entries_.begin());
    memory_ += memory;
    while (memory_ > SchemaExpressions::kMaxMemory) {
      memory_ -= entries_.back().memory;
      by_pattern_.erase(entries_.back().pattern);
      entries_.pop_back();
    }
  }

 private:
  struct Entry {
    std::string pattern;
    Result<Compiled> result;
    int64_t memory = 0;
  };
  std::mutex mutex_;
  std::list<Entry> entries_;
  std::unordered_map<std::string, std::list<Entry>::iterator> by_pattern_;
  int64_t memory_ = 0;
};

ExpressionCache& cache() {
  static ExpressionCache all;
  return all;
}

std::shared_ptr<re2::RE2> compile(const std::string& expression, int64_t memory) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(memory);
  return std::make_shared<re2::RE2>(expression, options);
}

}  // namespace

std::string re2_from_ecma(std::string_view pattern) {
  std::string text;
  for (size_t i = 0; i < pattern.size(); i++) {
    const std::string_view rest = pattern.substr(i);
    if (rest.starts_with("(?<") && rest.size() > 3 && rest[3] != '=' && rest[3] != '!') {
      text += "(?P<";
      i += 2;
    } else if (rest[0] == '\\' && rest.size() > 5 && rest[1] == 'u' &&
               std::all_of(rest.begin() + 2, rest.begin() + 6, [](char c) { return hex_digit(c) >= 0; })) {
      text += "\\x{" + std::string(rest.substr(2, 4)) + "}";
      i += 5;
    } else if (rest[0] == '\\' && rest.size() > 2 && rest[1] == 'c') {
      text += fmt::format("\\x{{{:x}}}", static_cast<unsigned char>(rest[2]) % 32);
      i += 2;
    } else if (rest[0] == '\\' && rest.size() > 1) {
      if (rest[1] == '/' || rest[1] == '-') {
        text += rest[1] == '/' ? "/" : "\\-";
      } else {
        text += rest.substr(0, 2);
      }
      i++;
    } else {
      text += rest[0];
    }
  }
  return text;
}

Result<Compiled> SchemaExpressions::compiled(const std::string& pattern) {
  if (pattern.size() > kMaxBytes)
    return fail(Code::invalid, fmt::format("an expression of more than {} bytes", kMaxBytes));
  if (auto it = cache().find(pattern)) return *std::move(it);
  const std::string expression = re2_from_ecma(pattern);
  int64_t memory = kSmallMemory;
  auto created = compile(expression, memory);
  if (created->error_code() == re2::RE2::ErrorPatternTooLarge) created = compile(expression, memory = kLargeMemory);
  Result<Compiled> result = created;
  if (!created->ok()) result = fail(Code::invalid, "an invalid expression: " + printable(created->error(), 100));
  cache().add(pattern, result, created->ok() ? memory : static_cast<int64_t>(kMaxBytes));
  return result;
}

Result<bool> SchemaExpressions::fits(const re2::RE2& expression, std::string_view text, WorkMeter& meter) {
  constexpr uint64_t kBytesPerStep = 8;
  constexpr size_t kLongText = 4096;  // a comparison may take so long that the clock is looked at before the next one
  const auto instructions = static_cast<uint64_t>(std::max(expression.ProgramSize(), 1));
  if (text.size() > kMaxMatchSteps / instructions)
    return fail(Code::exhausted,
                fmt::format("the expression {} cannot be compared with a text of {} bytes",
                            printable(expression.pattern(), 60), text.size()),
                "send a shorter text");
  if (!meter.spend(text.size() > kLongText ? WorkMeter::kStepsPerCheck : 10 + text.size() / kBytesPerStep))
    return tl::unexpected<Error>(meter.error());
  return re2::RE2::PartialMatch({text.data(), text.size()}, expression);
}

}  // namespace policies
