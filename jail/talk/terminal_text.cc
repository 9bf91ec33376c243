#include "jail/talk/terminal_text.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace jail {
namespace {

constexpr size_t kMaxLine = 1024;      // bytes that can be written again
constexpr size_t kMaxParameters = 32;  // bytes of a control sequence
constexpr size_t kMaxTitle = 4096;
constexpr char kEscape = '\x1b', kBell = '\a', kBack = '\b';

bool is_special(char c) { return c == '\r' || c == kEscape || c == kBack; }

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

bool has_special(std::string_view text) {
  return std::ranges::any_of(std::string_view("\r\x1b\b"), [text](char c) { return text.find(c) != text.npos; });
}

// memrchr(3) looks at many bytes at a time, std::string_view::rfind() at one. A program may write very fast.
size_t last_newline(std::string_view text) {
  const void* match = text.empty() ? nullptr : ::memrchr(text.data(), '\n', text.size());
  return match == nullptr ? text.npos : static_cast<size_t>(static_cast<const char*>(match) - text.data());
}

// The byte behind `characters` characters from `begin`.
size_t after(const std::string& text, size_t begin, size_t characters) {
  while (begin < text.size() && characters > 0) {
    begin++;
    while (begin < text.size() && continues(text[begin])) begin++;
    characters--;
  }
  return begin;
}

// The byte of the character before `end`.
size_t before(const std::string& text, size_t end) {
  if (end > 0) end--;
  while (end > 0 && continues(text[end])) end--;
  return end;
}

}  // namespace

// Text without special bytes.
void TerminalText::put(std::string_view text, std::string& out) {
  if (const size_t end = last_newline(text); end != text.npos) {
    const size_t first = text.find('\n');
    put(text.substr(0, first), out);
    out += line_;
    out += text.substr(first, end + 1 - first);
    line_.clear();
    column_ = 0;
    text.remove_prefix(end + 1);
  }
  if (text.empty()) return;
  if (column_ == line_.size()) {
    if (line_.size() + text.size() > kMaxLine) {  // it is no progress bar
      out += line_;
      out += text;
      line_.clear();
      column_ = 0;
      return;
    }
    line_ += text;
  } else {
    has_overwritten_ = true;
    const auto characters =
        static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
    line_.replace(column_, after(line_, column_, characters) - column_, text);
  }
  column_ += text.size();
  if (line_.size() <= kMaxLine) return;
  out += line_;
  line_.clear();
  column_ = 0;
}

void TerminalText::end_control(char final) {
  state_ = State::text;
  size_t number = 0;
  const char* const end = parameters_.data() + parameters_.size();
  const bool has_number = std::from_chars(parameters_.data(), end, number).ec == std::errc();
  const size_t steps = std::clamp<size_t>(number, 1, kMaxLine);
  if (final == 'K' && (!has_number || number == 0) && column_ < line_.size()) {
    has_overwritten_ = true;
    line_.resize(column_);
  } else if (final == 'K' && number == 2 && !line_.empty()) {
    has_overwritten_ = true;
    line_.clear();
    column_ = 0;
  } else if (final == 'G') {
    column_ = after(line_, 0, steps - 1);
  } else if (final == 'C') {
    column_ = after(line_, column_, steps);
  } else if (final == 'D') {
    for (size_t step = 0; step < steps && column_ > 0; step++) column_ = before(line_, column_);
  }
}

void TerminalText::take_special(char c, std::string& out) {
  switch (state_) {
    case State::text:
      if (c == '\r') column_ = 0;
      if (c == kEscape) state_ = State::escape;
      if (c == kBack) column_ = before(line_, column_);
      return;
    case State::escape:
      state_ = State::text;
      if (c == '[') state_ = State::control, parameters_.clear();
      if (c == ']' || c == 'P' || c == '_' || c == '^') state_ = State::title, title_bytes_ = 0;
      if (c == '(' || c == ')' || c == '*' || c == '+' || c == '#' || c == '%' || c == ' ') state_ = State::charset;
      if (c == '\n') put("\n", out);
      return;
    case State::charset:
      state_ = State::text;
      if (c == '\n') put("\n", out);
      return;
    case State::control:
      if (c >= '@' && c <= '~') return end_control(c);
      if (c < ' ' || parameters_.size() >= kMaxParameters) {  // no sequence of a terminal
        state_ = State::text;
        if (c == '\n') put("\n", out);
        return;
      }
      parameters_ += c;
      return;
    case State::title:
    case State::title_end:
      if (c == kBell || (state_ == State::title_end && c == '\\') || ++title_bytes_ > kMaxTitle) {
        state_ = State::text;
      } else if (c == '\n') {
        state_ = State::text;
        put("\n", out);
      } else {
        state_ = c == kEscape ? State::title_end : State::title;
      }
      return;
  }
}

void TerminalText::add(std::string_view part, std::string& out) {
  if (state_ == State::text && !has_special(part)) return put(part, out);
  while (!part.empty()) {
    if (state_ != State::text || is_special(part.front())) {
      take_special(part.front(), out);
      part.remove_prefix(1);
      continue;
    }
    const auto plain = static_cast<size_t>(std::ranges::find_if(part, is_special) - part.begin());
    put(part.substr(0, plain), out);
    part.remove_prefix(plain);
  }
}

}  // namespace jail
