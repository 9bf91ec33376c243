#include "policies/pii/detect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <set>

#include "policies/pii/beginnings.h"
#include "policies/pii/shapes.h"
#include "supervisor/base/ascii.h"
#include "supervisor/base/log.h"

namespace policies {
namespace {

// re2 of Debian 13 takes absl::string_view, which std::string_view does not convert to.
re2::StringPiece piece_of(std::string_view text) { return {text.data(), text.size()}; }

constexpr int64_t kExpressionMemory = 64 << 20;  // bytes for one RE2 expression; enough to cache its states
constexpr size_t kLong = 256;                    // bytes; a longer match without a finding is skipped whole
// A step of a scan ends after this many bytes, or after this many candidates.
constexpr size_t kScanWindow = 256 << 10, kLooks = 256;
constexpr size_t kMaxShapeBytes = 64 << 10;        // bytes behind the window, for shapes that begin in it
constexpr int64_t kPolicyPatternMemory = 8 << 20;  // bytes for one RE2 expression of a policy
constexpr int kMaxProgram = 5000;                  // instructions of a policy's expression: "x{1000}{5}"
constexpr size_t kMaxPolicyPatterns = 64, kMaxExpression = 2048, kMaxAllowed = 1000;

RE2::Options re2_options(int64_t memory = kExpressionMemory) {
  RE2::Options options(RE2::Latin1);  // bytes: no shape ends within a multi-byte character
  options.set_log_errors(false);
  options.set_max_mem(memory);
  return options;
}

std::vector<std::string> built_in_types() {
  std::set<std::string> all;
  for (const auto& shape : pii_shapes()) all.insert(shape.type);
  for (const auto& shape : announced_shapes()) all.insert(shape.type);
  for (const auto& shape : secret_shapes()) all.insert(shape.type);
  for (const auto& shape : announced_secret_shapes()) all.insert(shape.type);
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
  auto expression = std::make_unique<RE2>(pattern.expression, re2_options(kPolicyPatternMemory));
  if (!expression->ok()) return fail(Code::invalid, printable(expression->error()), "see RE2's syntax");
  if (expression->ProgramSize() > kMaxProgram)
    return fail(Code::invalid, fmt::format("compiled, it has {} instructions, more than {}: repeat less",
                                           expression->ProgramSize(), kMaxProgram));
  if (RE2::FullMatch("", *expression)) return fail(Code::invalid, "matches the empty text");
  return expression;
}

// Alternation: several shapes as one expression, and each shape alone. One pass of a DFA, which cannot tell groups
// apart, finds where any shape may begin. A second look at these few bytes finds out which shape it is.
struct Alternation {
  enum class By { full, beginning };  // the part of each shape in the one expression
  struct DetectorRule {
    PiiShape shape;
    std::unique_ptr<RE2> expression;
    unsigned char first_least = 0, first_max = 255;  // range of its first byte
  };
  std::vector<DetectorRule> all;
  std::unique_ptr<RE2> any;
  By by = By::full;

  void compile(const std::vector<PiiShape>& shapes, By subject) {
    by = subject;
    std::string joined;
    for (const auto& shape : shapes) {
      const std::string sought = by == By::full ? shape.expression : beginning_of(shape.expression);
      joined += (joined.empty() ? "(?:" : "|(?:") + sought + ")";
      RE2::Options longest = re2_options();
      longest.set_longest_match(true);
      std::string_view own = shape.expression;
      if (own.starts_with("\\b")) own.remove_prefix(2);  // `accept` checks it; without it RE2 knows the first byte
      DetectorRule item{shape, std::make_unique<RE2>(piece_of(own), longest)};
      std::string least, max;
      if (item.expression->PossibleMatchRange(&least, &max, 1) && !least.empty() && !max.empty()) {
        item.first_least = static_cast<unsigned char>(least[0]);
        item.first_max = static_cast<unsigned char>(max[0]);
      }
      all.push_back(std::move(item));
    }
    if (!all.empty()) any = std::make_unique<RE2>(joined, re2_options());
  }

  bool has(std::string_view type) const {
    return std::any_of(all.begin(), all.end(), [&](const DetectorRule& item) { return item.shape.type == type; });
  }

  struct Taken {
    std::optional<PiiFinding> finding;
    size_t next;  // where the search continues
  };

  // Checks one candidate. `span`: a match of one shape, or of its beginning. Other shapes may begin there and be
  // longer, up to `limit`. A finding that begins before `used` does not count.
  Taken take(std::string_view text, PiiSpan span, size_t limit, size_t used) const {
    size_t next = span.begin + 1;
    size_t end = by == By::full ? span.end : span.begin;  // of the longest shape
    re2::StringPiece own;
    const auto first = static_cast<unsigned char>(text[span.begin]);
    for (const DetectorRule& item : all) {
      if (first < item.first_least || first > item.first_max) continue;
      if (!item.expression->Match(piece_of(text), span.begin, limit, RE2::ANCHOR_START, &own, 1)) continue;
      const PiiSpan shape{span.begin, span.begin + own.size()};
      if (by == By::beginning) end = std::max(end, shape.end);
      const auto accepted = item.shape.accept(text, shape);
      if (accepted && accepted->begin >= used) {
        return {PiiFinding{accepted->begin, accepted->end, item.shape.type}, std::max(accepted->end, next)};
      }
      if (item.shape.beyond != nullptr) next = std::max(next, item.shape.beyond(text, shape));
    }
    if (end > span.begin + kLong) return {{}, end};
    // Another shape may begin a little later. Words are skipped whole: no shape begins within a word, and so a long
    // word is not examined once for each of its letters.
    while (next < end && is_alnum(text[next]) && is_alnum(text[next - 1])) next++;
    return {{}, next};
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
  if (options.patterns.size() > kMaxPolicyPatterns || options.allowed.size() > kMaxAllowed)
    return fail(Code::invalid,
                fmt::format("more than {} patterns or {} allowed texts", kMaxPolicyPatterns, kMaxAllowed));
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
      return fail(Code::invalid, fmt::format("'{}' is not a type of personal data; known types: {}",
                                             printable(type, 40), fmt::format("{}", fmt::join(types(), ", "))));
  }
  auto requested = [&](std::string_view type) {
    return options.types.empty() || std::find(options.types.begin(), options.types.end(), type) != options.types.end();
  };
  std::erase_if(compiled->customs, [&](const auto& custom) { return !requested(custom.type); });
  std::vector<PiiShape> shapes, secrets;
  for (const auto& shape : pii_shapes())
    if (requested(shape.type)) shapes.push_back(shape);
  for (const auto& shape : announced_shapes())
    if (requested(shape.type)) shapes.push_back(shape);
  if (options.secrets == PiiOptions::Secrets::find) {
    for (const auto& shape : secret_shapes())
      if (requested(shape.type)) secrets.push_back(shape);
    for (const auto& shape : announced_secret_shapes())
      if (requested(shape.type)) secrets.push_back(shape);
  }
  compiled->shapes.compile(shapes, Alternation::By::full);
  compiled->secrets.compile(secrets, Alternation::By::beginning);
  compiled->allowed.insert(options.allowed.begin(), options.allowed.end());
  return std::shared_ptr<const PiiDetector>(new PiiDetector(std::move(compiled)));
}

Result<> PiiDetector::check(const PiiPattern& pattern) {
  CHECKED(compile_pattern(pattern));
  return {};
}

bool PiiDetector::looks_for(std::string_view type) const {
  const auto& customs = compiled_->customs;
  const bool custom = std::any_of(customs.begin(), customs.end(), [&](const auto& item) { return item.type == type; });
  return custom || compiled_->shapes.has(type) || compiled_->secrets.has(type);
}

std::vector<std::string> PiiDetector::known() const {
  std::set<std::string> all;
  for (const auto& item : compiled_->shapes.all) all.insert(item.shape.type);
  for (const auto& item : compiled_->secrets.all) all.insert(item.shape.type);
  for (const auto& custom : compiled_->customs) all.insert(custom.type);
  return {all.begin(), all.end()};
}

std::vector<PiiFinding> PiiDetector::find(std::string_view text, std::span<const std::string> only) const {
  PiiScan scan(text, *this, only);
  while (scan.step() == PiiScan::Step::more) continue;
  return scan.take();
}

PiiScan::Step PiiScan::step() {
  const size_t expressions = 2 + detector_.compiled_->customs.size();
  const size_t edge = std::min(at_ + kScanWindow, text_.size());
  const size_t limit = std::min(edge + kMaxShapeBytes, text_.size());
  last_check_ = looks_ + kLooks;
  if (expression_ < 2) {
    find_shapes(edge, limit);
  } else {
    find_pattern(edge, limit);
  }
  if (at_ >= text_.size()) {
    expression_++;
    at_ = end_of_last_ = 0;
  }
  return expression_ < expressions && !text_.empty() ? Step::more : Step::done;
}

// Looks for shapes that begin before `edge`, in the text up to `limit`.
void PiiScan::find_shapes(size_t edge, size_t limit) {
  const Alternation& shapes = expression_ == 0 ? detector_.compiled_->shapes : detector_.compiled_->secrets;
  re2::StringPiece piece;
  while (at_ < edge && looks_ < last_check_) {
    const bool any = shapes.any && shapes.any->Match(piece_of(text_), at_, limit, RE2::UNANCHORED, &piece, 1);
    const size_t begin = any ? static_cast<size_t>(piece.data() - text_.data()) : edge;
    if (begin >= edge) {
      at_ = edge;
      return;
    }
    looks_++;
    const auto check = shapes.take(text_, {begin, begin + piece.size()}, limit, end_of_last_);
    at_ = check.next;
    if (!check.finding) continue;
    end_of_last_ = check.finding->end;
    add(*check.finding);
  }
}

void PiiScan::find_pattern(size_t edge, size_t limit) {
  const auto& custom = detector_.compiled_->customs[expression_ - 2];
  re2::StringPiece groups[2];
  const int requested = std::min(custom.expression->NumberOfCapturingGroups(), 1) + 1;
  while (at_ < edge && looks_ < last_check_) {
    const bool any = custom.expression->Match(piece_of(text_), at_, limit, RE2::UNANCHORED, groups, requested);
    const size_t begin = any ? static_cast<size_t>(groups[0].data() - text_.data()) : edge;
    if (begin >= edge) {
      at_ = edge;
      return;
    }
    looks_++;
    if (begin + groups[0].size() == limit && limit < text_.size()) {  // the match may be longer: find its end
      limit = std::min(limit + (limit - begin), text_.size());
      at_ = begin;
      continue;
    }
    const re2::StringPiece& part = requested == 2 && groups[1].data() != nullptr ? groups[1] : groups[0];
    const auto part_begin = static_cast<size_t>(part.data() - text_.data());
    if (!part.empty()) add({part_begin, part_begin + part.size(), custom.type});
    at_ = begin + std::max<size_t>(groups[0].size(), 1);
  }
}

void PiiScan::add(PiiFinding finding) {
  if (!only_.empty() && std::find(only_.begin(), only_.end(), finding.type) == only_.end()) return;
  if (detector_.compiled_->allowed.contains(text_.substr(finding.begin, finding.end - finding.begin))) return;
  findings_.push_back(finding);
}

std::vector<PiiFinding> apart(std::vector<PiiFinding> findings) {
  std::sort(findings.begin(), findings.end(), [](const PiiFinding& a, const PiiFinding& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::vector<PiiFinding> all;
  size_t longest = 0;  // length of the longest finding in all.back()
  for (const PiiFinding& finding : findings) {
    if (all.empty() || finding.begin >= all.back().end) {
      all.push_back(finding);
      longest = finding.end - finding.begin;
      continue;
    }
    if (finding.end - finding.begin > longest) {
      all.back().type = finding.type;
      longest = finding.end - finding.begin;
    }
    all.back().end = std::max(all.back().end, finding.end);
  }
  return all;
}

}  // namespace policies
