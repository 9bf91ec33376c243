#include "supervisor/base/json/envelope_scan.h"

#include "supervisor/base/ascii.h"

namespace {

constexpr size_t kMaxKeyBytes = 16;  // longer than each key that the scan knows

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool begins_id(char c) { return c == '"' || c == '-' || is_digit(c); }

}  // namespace

void EnvelopeScan::feed(std::string_view part) {
  for (size_t at = 0; at < part.size() && position_ != ScanPosition::broken;) {
    if (quoted_) {
      at = pass_string(part, at);
    } else {
      on_byte(part[at++]);
    }
  }
}

size_t EnvelopeScan::pass_string(std::string_view part, size_t at) {
  const bool is_collected = depth_ == 1 && (position_ == ScanPosition::key || wants_id_);
  for (; at < part.size(); at++) {
    const char c = part[at];
    if (is_collected) keep(c);
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      end_string();
      return at + 1;
    }
  }
  return at;
}

void EnvelopeScan::keep(char c) {
  if (position_ == ScanPosition::key) {
    if (c == '\\') doubtful_ = true;
    if (key_.size() < kMaxKeyBytes) key_ += c;
  } else if (id_.size() < kMaxIdBytes) {
    id_ += c;
  } else {
    doubtful_ = true;
  }
}

void EnvelopeScan::end_string() {
  quoted_ = false;
  if (depth_ != 1) return;
  if (position_ == ScanPosition::value) {
    position_ = ScanPosition::comma;
    wants_id_ = false;
    return;
  }
  position_ = ScanPosition::colon;
  key_.pop_back();  // the quote
  if (key_ == "method") has_method_ = true;
  if (key_ == "result" || key_ == "error") has_reply_ = true;
  if (key_ != "id") return;
  wants_id_ = true;
  ids_++;
  id_.clear();
}

void EnvelopeScan::on_byte(char c) {
  if (depth_ > 1) {  // inside nested values, only brackets and strings matter
    if (c == '"') quoted_ = true;
    if (c == '{' || c == '[') open(c);
    if (c == '}' || c == ']') close(c);
    return;
  }
  if (in_scalar_ && (is_space(c) || c == ',' || c == '}')) {
    in_scalar_ = wants_id_ = false;
    position_ = ScanPosition::comma;
  }
  if (is_space(c)) return;
  if (in_scalar_) {
    if (c == '"' || c == '{' || c == '[' || c == ']' || c == ':') position_ = ScanPosition::broken;
    if (wants_id_) keep(c);
  } else if (c == '"') {
    on_quote();
  } else if (c == '{' || c == '[') {
    open(c);
  } else if (c == '}' || c == ']') {
    close(c);
  } else if (c == ':' && position_ == ScanPosition::colon) {
    position_ = ScanPosition::value;
  } else if (c == ',' && position_ == ScanPosition::comma) {
    position_ = ScanPosition::key;
    key_.clear();
  } else if (position_ == ScanPosition::value) {
    in_scalar_ = true;
    if (wants_id_) keep(c);
  } else {
    position_ = ScanPosition::broken;
  }
}

void EnvelopeScan::on_quote() {
  if (position_ != ScanPosition::key && position_ != ScanPosition::value) {
    position_ = ScanPosition::broken;
    return;
  }
  quoted_ = true;
  if (wants_id_) keep('"');
}

void EnvelopeScan::open(char bracket) {
  if (depth_ == 0) {
    position_ = position_ == ScanPosition::before && bracket == '{' ? ScanPosition::key : ScanPosition::broken;
  } else if (depth_ == 1) {
    if (position_ != ScanPosition::value) position_ = ScanPosition::broken;
    if (wants_id_) doubtful_ = true;
    wants_id_ = false;
  }
  if (depth_ < arrays_.size()) arrays_[depth_] = bracket == '[';
  depth_++;
}

void EnvelopeScan::close(char bracket) {
  if (depth_ == 0 || (depth_ <= arrays_.size() && arrays_[depth_ - 1] != (bracket == ']'))) {
    position_ = ScanPosition::broken;
    return;
  }
  depth_--;
  if (depth_ == 1) position_ = ScanPosition::comma;
  if (depth_ == 0)
    position_ = position_ == ScanPosition::comma || position_ == ScanPosition::key ? ScanPosition::behind
                                                                                   : ScanPosition::broken;
}

std::optional<EnvelopeScan::EnvelopeFields> EnvelopeScan::found() const {
  if (position_ != ScanPosition::behind || doubtful_ || ids_ != 1 || id_.empty() || !begins_id(id_[0])) return {};
  if (has_method_ == has_reply_) return {};
  return EnvelopeFields{has_method_ ? Kind::request : Kind::response, id_};
}
