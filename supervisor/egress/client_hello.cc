#include "supervisor/egress/client_hello.h"

#include <optional>

#include "supervisor/base/ascii.h"

namespace egress {
namespace {

constexpr uint8_t kHandshakeRecord = 22, kClientHello = 1, kHostName = 0;
constexpr uint16_t kServerNameExtension = 0;
constexpr size_t kRecordHead = 5, kMessageHead = 4;
constexpr size_t kMaxRecordBytes = 16'384;  // of plain text, RFC 8446, section 5.1
constexpr size_t kMaxRecords = 64;
constexpr size_t kMaxNameBytes = 255;

// Reads numbers and parts from the front of a text; false once it was too short.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  bool is_good() const { return good_; }
  bool is_empty() const { return bytes_.empty(); }

  size_t number(int bytes) {
    size_t value = 0;
    for (const char c : part(static_cast<size_t>(bytes))) value = value << 8 | static_cast<uint8_t>(c);
    return value;
  }
  std::string_view part(size_t size) {
    if (size > bytes_.size()) {
      good_ = false;
      bytes_ = {};
      return {};
    }
    const std::string_view name = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return name;
  }
  // A part with its length before it, in so many bytes.
  std::string_view counted(int length_bytes) { return part(number(length_bytes)); }

 private:
  std::string_view bytes_;
  bool good_ = true;
};

// The host name in the extension's body; nullopt: it is not valid.
std::optional<std::string_view> host_name_in(std::string_view extension) {
  ByteReader body(extension);
  ByteReader list(body.counted(2));
  if (!body.is_good() || !body.is_empty()) return std::nullopt;
  const size_t type = list.number(1);
  const std::string_view name = list.counted(2);
  // One name: with two, the server could take the other one.
  if (!list.is_good() || !list.is_empty() || type != kHostName || name.empty() || name.size() > kMaxNameBytes)
    return std::nullopt;
  return name;
}

}  // namespace

ClientHelloReader::State ClientHelloReader::feed(std::string_view bytes) {
  if (state_ != State::more) return state_;
  record_ += bytes;
  if (take_records() && state_ == State::more) state_ = read_message();
  if (state_ != State::more) {
    std::string().swap(record_);
    std::string().swap(message_);
  }
  return state_;
}

// Moves whole records into message_. False: the state was decided.
bool ClientHelloReader::take_records() {
  const auto stop = [&](State state) {
    state_ = state;
    return false;
  };
  while (!record_.empty()) {
    if (static_cast<uint8_t>(record_[0]) != kHandshakeRecord) return stop(records_ ? State::malformed : State::not_tls);
    if (record_.size() > 1 && record_[1] != 3) return stop(State::not_tls);
    if (record_.size() < kRecordHead) return true;
    ByteReader head(std::string_view(record_).substr(3, 2));
    const size_t size = head.number(2);
    if (size == 0 || size > kMaxRecordBytes) return stop(State::malformed);
    if (record_.size() < kRecordHead + size) return true;
    if (++records_ > kMaxRecords || message_.size() + size > kMaxHelloBytes) return stop(State::too_long);
    message_.append(record_, kRecordHead, size);
    record_.erase(0, kRecordHead + size);
    if (static_cast<uint8_t>(message_[0]) != kClientHello) return stop(State::malformed);
    if (message_.size() >= kMessageHead) {
      ByteReader head_of_message(std::string_view(message_).substr(1, 3));
      const size_t length = head_of_message.number(3);
      if (length > kMaxHelloBytes) return stop(State::too_long);
      if (message_.size() >= kMessageHead + length) return true;  // whole
    }
  }
  return true;
}

ClientHelloReader::State ClientHelloReader::read_message() {
  if (message_.size() < kMessageHead) return State::more;
  ByteReader length(std::string_view(message_).substr(1, 3));
  const size_t size = length.number(3);
  if (size > kMaxHelloBytes) return State::too_long;
  if (message_.size() < kMessageHead + size) return State::more;
  ByteReader hello(std::string_view(message_).substr(kMessageHead, size));
  hello.part(2 + 32);  // version, random
  hello.counted(1);    // session
  hello.counted(2);    // cipher suites
  hello.counted(1);    // compression
  if (!hello.is_good()) return State::malformed;
  if (hello.is_empty()) return State::no_name;
  ByteReader extensions(hello.counted(2));
  if (!hello.is_good() || !hello.is_empty()) return State::malformed;
  bool has_name = false;
  while (!extensions.is_empty()) {
    const size_t type = extensions.number(2);
    const std::string_view body = extensions.counted(2);
    if (!extensions.is_good()) return State::malformed;
    if (type != kServerNameExtension) continue;
    const auto name = host_name_in(body);
    if (!name || has_name) return State::malformed;
    has_name = true;
    name_ = lower_case(*name);
  }
  return has_name ? State::found : State::no_name;
}

}  // namespace egress
