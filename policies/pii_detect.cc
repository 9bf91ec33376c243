#include "policies/pii_detect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <set>

#include "policies/pii_shapes.h"
#include "supervisor/base/log.h"

namespace policies {
namespace {

constexpr int64_t kExpressionMemory = 64 << 20;  // of RE2 for one expression: its states are kept, not made again
constexpr size_t kLong = 256;                    // longer shapes that are nothing are skipped whole
constexpr int64_t kPatternMemory = 8 << 20;      // the same for a policy's
constexpr int kMaxProgram = 5000;                // instructions of a policy's expression: "x{1000}{5}"
constexpr size_t kMaxPatterns = 64, kMaxExpression = 2048, kMaxAllowed = 1000;

RE2::Options re2_options(int64_t memory = kExpressionMemory) {
  RE2::Options options(RE2::Latin1);  // bytes: no shape ends within a character of several
  options.set_log_errors(false);
  options.set_max_mem(memory);
  return options;
}

std::vector<std::string> built_in_types() {
  std::set<std::string> all;
  for (const auto& shape : pii_shapes()) all.insert(shape.type);
  for (const auto& shape : secret_shapes()) all.insert(shape.type);
  return {all.begin(), all.end()};
}

bool valid_type(std::string_view type) {
  if (type.empty() || type.size() > 32 || type[0] < 'a' || type[0] > 'z') return false;
  return type.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == type.npos;
}

Result<std::unique_ptr<RE2>> compile_pattern(const PiiPattern& pattern) {
  if (!valid_type(pattern.type))
    return fail(Code::invalid, "a type is 1 to 32 of a-z, 0-9 and _, beginning with a letter");
  if (pattern.expression.size() > kMaxExpression)
    return fail(Code::invalid, fmt::format("longer than {} bytes", kMaxExpression));
  auto expression = std::make_unique<RE2>(pattern.expression, re2_options(kPatternMemory));
  if (!expression->ok()) return fail(Code::invalid, printable(expression->error()), "see RE2's syntax");
  if (expression->ProgramSize() > kMaxProgram)
    return fail(Code::invalid, fmt::format("compiled, it has {} instructions, more than {}: repeat less",
                                           expression->ProgramSize(), kMaxProgram));
  if (RE2::FullMatch("", *expression)) return fail(Code::invalid, "fits the empty text");
  return expression;
}

// Some shapes in one expression, and each alone. One pass finds where any of them stands, as a DFA does it that need
// not tell groups apart; which of them it is, a second look at those few bytes tells.
struct Alternation {
  std::vector<PiiShape> shapes;
  std::vector<std::unique_ptr<RE2>> each;
  std::unique_ptr<RE2> any;

  void compile() {
    std::string all;
    for (const auto& shape : shapes) {
      all += (all.empty() ? "(?:" : "|(?:") + std::string(shape.expression) + ")";
      each.push_back(std::make_unique<RE2>(shape.expression, re2_options()));
    }
    any = std::make_unique<RE2>(all, re2_options());
  }

  void find(std::string_view text, std::vector<PiiFinding>& findings) const {
    if (shapes.empty()) return;
    re2::StringPiece found;
    size_t done = 0;  // the end of the last finding: none reaches back into it
    for (size_t at = 0; at < text.size() && any->Match(text, at, text.size(), RE2::UNANCHORED, &found, 1);) {
      const auto begin = static_cast<size_t>(found.data() - text.data());
      at = take(text, {begin, begin + found.size()}, done, findings);
    }
  }

  // Where to go on.
  size_t take(std::string_view text, PiiSpan span, size_t& done, std::vector<PiiFinding>& findings) const {
    for (size_t shape = 0; shape < shapes.size(); shape++) {
      if (!each[shape]->Match(text, span.begin, span.end, RE2::ANCHOR_BOTH, nullptr, 0)) continue;
      auto accepted = shapes[shape].accept(text, span);
      if (!accepted || accepted->begin < done) continue;
      done = accepted->end;
      findings.push_back({accepted->begin, accepted->end, shapes[shape].type});
      return std::max(accepted->end, span.begin + 1);
    }
    if (span.end - span.begin > kLong) return span.end;
    // What begins a little later may still be something. Words are skipped whole: nothing begins within one, and the
    // same long word is not looked at once for each of its letters.
    size_t next = span.begin + 1;
    auto is_word = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    while (next < span.end && is_word(text[next]) && is_word(text[next - 1])) next++;
    return next;
  }
};

}  // namespace

struct PiiDetector::Compiled {
  struct Custom {
    std::string type;
    std::unique_ptr<RE2> expression;
  };
  Alternation shapes, secrets;
  std::vector<Custom> customs;
  std::set<std::string, std::less<>> allowed;
};

PiiDetector::PiiDetector(std::unique_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
PiiDetector::~PiiDetector() = default;

const std::vector<std::string>& PiiDetector::types() {
  static const std::vector<std::string> all = built_in_types();
  return all;
}

Result<std::shared_ptr<const PiiDetector>> PiiDetector::make(const PiiOptions& options) {
  auto compiled = std::make_unique<Compiled>();
  if (options.patterns.size() > kMaxPatterns || options.allowed.size() > kMaxAllowed)
    return fail(Code::invalid, fmt::format("more than {} patterns or {} allowed texts", kMaxPatterns, kMaxAllowed));
  for (const auto& pattern : options.patterns) {
    auto expression = compile_pattern(pattern);
    if (!expression)
      return tl::unexpected<Error>(
          std::move(expression).error().within("pattern '" + printable(pattern.type, 40) + "'"));
    compiled->customs.push_back({pattern.type, *std::move(expression)});
  }
  for (const auto& type : options.types) {
    const bool custom =
        std::any_of(options.patterns.begin(), options.patterns.end(), [&](const auto& p) { return p.type == type; });
    if (!custom && !std::binary_search(types().begin(), types().end(), type))
      return fail(Code::invalid, fmt::format("'{}' is no type of personal data; known: {}", printable(type, 40),
                                             fmt::format("{}", fmt::join(types(), ", "))));
  }
  auto wanted = [&](std::string_view type) {
    return options.types.empty() || std::find(options.types.begin(), options.types.end(), type) != options.types.end();
  };
  std::erase_if(compiled->customs, [&](const auto& custom) { return !wanted(custom.type); });
  for (const auto& shape : pii_shapes())
    if (wanted(shape.type)) compiled->shapes.shapes.push_back(shape);
  for (const auto& shape : secret_shapes())
    if (wanted(shape.type) && options.secrets == PiiOptions::Secrets::find) compiled->secrets.shapes.push_back(shape);
  compiled->shapes.compile();
  compiled->secrets.compile();
  compiled->allowed.insert(options.allowed.begin(), options.allowed.end());
  return std::shared_ptr<const PiiDetector>(new PiiDetector(std::move(compiled)));
}

Result<> PiiDetector::check(const PiiPattern& pattern) {
  CHECKED(compile_pattern(pattern));
  return {};
}

bool PiiDetector::looks_for(std::string_view type) const {
  const auto is_it = [&](const auto& one) { return one.type == type; };
  const auto has_it = [&](const auto& all) { return std::any_of(all.begin(), all.end(), is_it); };
  return has_it(compiled_->shapes.shapes) || has_it(compiled_->secrets.shapes) || has_it(compiled_->customs);
}

std::vector<std::string> PiiDetector::known() const {
  std::set<std::string> all;
  for (const auto& shape : compiled_->shapes.shapes) all.insert(shape.type);
  for (const auto& shape : compiled_->secrets.shapes) all.insert(shape.type);
  for (const auto& custom : compiled_->customs) all.insert(custom.type);
  return {all.begin(), all.end()};
}

std::vector<PiiFinding> PiiDetector::find(std::string_view text, std::span<const std::string> only) const {
  std::vector<PiiFinding> found;
  compiled_->shapes.find(text, found);
  compiled_->secrets.find(text, found);
  for (const auto& custom : compiled_->customs) {
    re2::StringPiece groups[2];
    const int wanted = std::min(custom.expression->NumberOfCapturingGroups(), 1) + 1;
    for (size_t at = 0;
         at < text.size() && custom.expression->Match(text, at, text.size(), RE2::UNANCHORED, groups, wanted);) {
      const re2::StringPiece& part = wanted == 2 && groups[1].data() != nullptr ? groups[1] : groups[0];
      const auto begin = static_cast<size_t>(part.data() - text.data());
      if (!part.empty()) found.push_back({begin, begin + part.size(), custom.type});
      at =
          std::max(static_cast<size_t>(groups[0].data() - text.data()) + std::max<size_t>(groups[0].size(), 1), at + 1);
    }
  }
  std::erase_if(found, [&](const PiiFinding& one) {
    if (!only.empty() && std::find(only.begin(), only.end(), one.type) == only.end()) return true;
    return compiled_->allowed.contains(text.substr(one.begin, one.end - one.begin));
  });
  return apart(std::move(found));
}

std::vector<PiiFinding> apart(std::vector<PiiFinding> found) {
  std::sort(found.begin(), found.end(), [](const PiiFinding& a, const PiiFinding& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::vector<PiiFinding> all;
  size_t longest = 0;  // of those that the last one was made of
  for (const PiiFinding& one : found) {
    if (all.empty() || one.begin >= all.back().end) {
      all.push_back(one);
      longest = one.end - one.begin;
      continue;
    }
    if (one.end - one.begin > longest) {
      all.back().type = one.type;
      longest = one.end - one.begin;
    }
    all.back().end = std::max(all.back().end, one.end);
  }
  return all;
}

}  // namespace policies
