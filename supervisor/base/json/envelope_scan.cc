#include "supervisor/base/json/envelope_scan.h"

namespace {

constexpr size_t kMaxKeyBytes = 16;  // longer than each key that the scan knows

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool begins_id(char c) { return c == '"' || c == '-' || (c >= '0' && c <= '9'); }

}  // namespace

void EnvelopeScan::feed(std::string_view part) {
  for (size_t at = 0; at < part.size() && place_ != ScanPlace::broken;) {
    if (quoted_) {
      at = pass_string(part, at);
    } else {
      on_byte(part[at++]);
    }
  }
}

size_t EnvelopeScan::pass_string(std::string_view part, size_t at) {
  const bool kept = depth_ == 1 && (place_ == ScanPlace::key || wants_id_);
  for (; at < part.size(); at++) {
    const char c = part[at];
    if (kept) keep(c);
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
  if (place_ == ScanPlace::key) {
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
  if (place_ == ScanPlace::value) {
    place_ = ScanPlace::comma;
    wants_id_ = false;
    return;
  }
  place_ = ScanPlace::colon;
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
    place_ = ScanPlace::comma;
  }
  if (is_space(c)) return;
  if (in_scalar_) {
    if (c == '"' || c == '{' || c == '[' || c == ']' || c == ':') place_ = ScanPlace::broken;
    if (wants_id_) keep(c);
  } else if (c == '"') {
    on_quote();
  } else if (c == '{' || c == '[') {
    open(c);
  } else if (c == '}' || c == ']') {
    close(c);
  } else if (c == ':' && place_ == ScanPlace::colon) {
    place_ = ScanPlace::value;
  } else if (c == ',' && place_ == ScanPlace::comma) {
    place_ = ScanPlace::key;
    key_.clear();
  } else if (place_ == ScanPlace::value) {
    in_scalar_ = true;
    if (wants_id_) keep(c);
  } else {
    place_ = ScanPlace::broken;
  }
}

void EnvelopeScan::on_quote() {
  if (place_ != ScanPlace::key && place_ != ScanPlace::value) {
    place_ = ScanPlace::broken;
    return;
  }
  quoted_ = true;
  if (wants_id_) keep('"');
}

void EnvelopeScan::open(char bracket) {
  if (depth_ == 0) {
    place_ = place_ == ScanPlace::before && bracket == '{' ? ScanPlace::key : ScanPlace::broken;
  } else if (depth_ == 1) {
    if (place_ != ScanPlace::value) place_ = ScanPlace::broken;
    if (wants_id_) doubtful_ = true;
    wants_id_ = false;
  }
  if (depth_ < arrays_.size()) arrays_[depth_] = bracket == '[';
  depth_++;
}

void EnvelopeScan::close(char bracket) {
  if (depth_ == 0 || (depth_ <= arrays_.size() && arrays_[depth_ - 1] != (bracket == ']'))) {
    place_ = ScanPlace::broken;
    return;
  }
  depth_--;
  if (depth_ == 1) place_ = ScanPlace::comma;
  if (depth_ == 0)
    place_ = place_ == ScanPlace::comma || place_ == ScanPlace::key ? ScanPlace::behind : ScanPlace::broken;
}

std::optional<EnvelopeScan::Found> EnvelopeScan::found() const {
  if (place_ != ScanPlace::behind || doubtful_ || ids_ != 1 || id_.empty() || !begins_id(id_[0])) return {};
  if (has_method_ == has_reply_) return {};
  return Found{has_method_ ? Kind::request : Kind::response, id_};
}
