// EnvelopeScan: finds the id of one JSON-RPC message while its text passes, in a few bytes of memory. For errors about
// lines that cannot become a value: too long, nested too deep, with too many values, almost JSON. When an error does
// not name its request, the official clients wait for their own time-out of one minute. Some clients write the id
// behind the parameters.
// Source: lines of hostile peers, in pieces of any size. Used by: supervisor/protocol/mcp, supervisor/programs/cli. No
// function here fails.
#pragma once
#include <bitset>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

class EnvelopeScan {
 public:
  enum class Kind { request, response };
  struct EnvelopeFields {
    Kind kind;
    std::string raw_id;  // JSON text of a string or a number: 7, "a"
  };

  void feed(std::string_view part);
  // The message's kind and id, once the message has ended. Empty in case of doubt: the outermost object is not closed,
  // brackets do not match, the id occurs twice, the id is no string or number of at most kMaxIdBytes, or the message
  // is a notification.
  std::optional<EnvelopeFields> found() const;

  static constexpr size_t kMaxIdBytes = 1024;

 private:
  enum class ScanPosition { before, key, colon, value, comma, behind, broken };

  void on_byte(char c);
  void on_quote();
  void open(char bracket);
  void close(char bracket);
  void end_string();
  void keep(char c);
  size_t pass_string(std::string_view part, size_t at);

  ScanPosition position_ = ScanPosition::before;  // within the outermost object
  size_t depth_ = 0;
  std::bitset<4096> arrays_;  // which of the outer levels are arrays; deeper levels are only counted
  bool quoted_ = false;
  bool escaped_ = false;
  bool in_scalar_ = false;  // a number, true, false or null of the outermost object
  bool wants_id_ = false;   // the value that comes, or that is being read, is the id
  std::string key_;         // the current key of the outermost object, at most its first bytes
  std::string id_;
  size_t ids_ = 0;
  bool doubtful_ = false;  // a key has escapes, or the id is too long, an object or an array
  bool has_method_ = false;
  bool has_reply_ = false;  // a result or an error
};
