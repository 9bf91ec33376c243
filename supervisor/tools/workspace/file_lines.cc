#include "supervisor/tools/workspace/file_lines.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <cstring>

#include "policies/schema/expressions.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/json/json.h"

namespace tools {
namespace {

constexpr size_t kLinesChunk = 256 << 10;
constexpr size_t kMaxLinesBytes = 64 << 10;  // of an answer
constexpr size_t kMaxMatches = 200;          // of an answer
constexpr size_t kMaxMatchShown = 500;       // bytes of a line that matches
constexpr size_t kMaxLineHeld = 1 << 20;     // bytes of a line that are looked at
constexpr double kMaxLinesMs = 2000;
constexpr int64_t kMaxPatternMemory = 1 << 20;
constexpr size_t kMaxPatternBytes = 1000;

// One walk through the lines of a file.
class LineWalk {
 public:
  // `pattern`: nullptr: all lines.
  LineWalk(const LineQuery& query, const RE2* pattern, WorkMeter& meter)
      : query_(query), pattern_(pattern), meter_(meter) {}

  // False: the walk is over.
  bool take(std::string_view part) {
    while (!part.empty()) {
      const void* newline = memchr(part.data(), '\n', part.size());
      const size_t length =
          newline ? static_cast<size_t>(static_cast<const char*>(newline) - part.data()) : part.size();
      hold(part.substr(0, length));
      if (!newline) return true;
      if (!end_line()) return false;
      part.remove_prefix(length + 1);
    }
    return true;
  }
  // The bytes between are not stored: a line says so.
  bool skip(uint64_t bytes) {
    if (has_line_ && !end_line()) return false;
    hold(fmt::format("[... {} bytes left out ...]", bytes));
    return end_line();
  }
  void end_file() {
    if (has_line_ && !end_line()) return;
    lines_.all_lines = number_ - 1;
  }
  void stop() { lines_.next_line = number_; }
  const Result<>& problem() const { return problem_; }
  MatchedLines take_matches() && {
    lines_.text = valid_utf8(lines_.text);
    return std::move(lines_);
  }

 private:
  bool is_wanted() const { return number_ >= query_.first; }

  void hold(std::string_view part) {
    has_line_ = true;
    length_ += part.size();
    if (is_wanted()) line_.append(part.substr(0, kMaxLineHeld - std::min(line_.size(), kMaxLineHeld)));
  }

  bool end_line() {
    if (is_wanted() && !show()) {
      stop();
      return false;
    }
    line_.clear();
    length_ = 0;
    has_line_ = false;
    return ++number_ <= query_.last;
  }

  bool is_match() {
    if (!pattern_) return true;
    auto fits = policies::SchemaExpressions::fits(*pattern_, line_, meter_);
    if (!fits) {
      problem_ = tl::unexpected<Error>(std::move(fits).error().within(fmt::format("line {}", number_)));
      problem_.error().hint = "use a simpler pattern, or read the file in code";
    }
    return fits.value_or(false);
  }

  // False: the answer is full, or the line cannot be compared.
  bool show() {
    if (!is_match()) return problem_.has_value();
    const size_t max = pattern_ ? kMaxMatchShown : kMaxLinesBytes;
    std::string_view text = line_;
    if (text.size() > max) text = text.substr(0, whole_utf8_prefix(text.substr(0, max)));
    if (lines_.count > 0 &&
        (lines_.text.size() + text.size() > kMaxLinesBytes || (pattern_ && lines_.count == kMaxMatches)))
      return false;
    if (pattern_) lines_.text += fmt::format("{}:", number_);
    lines_.text += text;
    lines_.text += text.size() < length_ ? "...\n" : "\n";
    lines_.cut += text.size() < length_;
    if (lines_.count++ == 0) lines_.first = number_;
    lines_.last = number_;
    return true;
  }

  const LineQuery& query_;
  const RE2* pattern_;
  WorkMeter& meter_;
  Result<> problem_;
  MatchedLines lines_;
  std::string line_;     // the begin of the current line
  uint64_t length_ = 0;  // bytes of the current line
  bool has_line_ = false;
  uint64_t number_ = 1;
};

// Without a pattern: nullptr.
Result<std::shared_ptr<const RE2>> compiled_pattern(const LineQuery& query) {
  if (!query.pattern) return std::shared_ptr<const RE2>();
  if (query.pattern->size() > kMaxPatternBytes)
    return fail(Code::invalid,
                fmt::format("pattern: it has {} bytes, {} are allowed", query.pattern->size(), kMaxPatternBytes));
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMaxPatternMemory);
  auto compiled = std::make_shared<const RE2>(*query.pattern, options);
  if (!compiled->ok())
    return fail(Code::invalid, "pattern: " + compiled->error(), "write it in the syntax of RE2: no lookaround, no \\1");
  return std::shared_ptr<const RE2>(std::move(compiled));
}

}  // namespace

Result<MatchedLines> find_lines(const RangeReader& read, const LineQuery& query, WorkMeter& meter) {
  TRY(const auto pattern, compiled_pattern(query));
  LineWalk lines(query, pattern.get(), meter);
  const auto started = Monotonic::now();
  for (uint64_t offset = 0;;) {
    TRY(const tenants::FileRange range, read(offset, kLinesChunk));
    if (range.bytes.empty()) {
      lines.end_file();
      break;
    }
    if (range.offset > offset && !lines.skip(range.offset - offset)) break;
    if (!lines.take(range.bytes)) break;
    CHECKED(lines.problem());
    offset = range.offset + range.bytes.size();
    if (ms_since(started) > kMaxLinesMs && offset < range.size) {
      lines.stop();
      break;
    }
  }
  CHECKED(lines.problem());
  return std::move(lines).take_matches();
}

}  // namespace tools
