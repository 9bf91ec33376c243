// EnvelopeScan: the id of one JSON-RPC message, found while its text passes, in a few bytes of memory.
// For errors about lines that cannot become a value: too long, nested too deep, with too many values, not quite JSON.
// The official clients wait for their own time-out, a minute, when an error does not name the request that it is about;
// some of them write the id behind the parameters.
// Source: lines of hostile peers, in pieces of any size. Used by: supervisor/mcp, supervisor/cli. Nothing here fails.
#pragma once
#include <bitset>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

class EnvelopeScan {
 public:
  enum class Kind { request, response };
  struct Found {
    Kind kind;
    std::string raw_id;  // JSON text of a string or a number: 7, "a"
  };

  void feed(std::string_view part);
  // What the whole message is, once it has ended. Nothing where any doubt is left: the outermost object is not closed,
  // brackets do not match, its id occurs twice or is no string or number of at most kMostIdBytes, it is a notification.
  std::optional<Found> found() const;

  static constexpr size_t kMostIdBytes = 1024;

 private:
  enum class Place { before, key, colon, value, comma, behind, broken };

  void on_byte(char c);
  void on_quote();
  void open(char bracket);
  void close(char bracket);
  void end_string();
  void keep(char c);
  size_t pass_string(std::string_view part, size_t at);

  Place place_ = Place::before;  // within the outermost object
  size_t depth_ = 0;
  std::bitset<4096> arrays_;  // of the outer levels, those that are arrays; deeper ones are only counted
  bool quoted_ = false;
  bool escaped_ = false;
  bool in_scalar_ = false;  // a number, true, false or null of the outermost object
  bool wants_id_ = false;   // the value that comes, or that is being read, is the id
  std::string key_;         // of the outermost object, its beginning
  std::string id_;
  size_t ids_ = 0;
  bool doubtful_ = false;  // a key is spelled with escapes, or an id is too long or no scalar
  bool has_method_ = false;
  bool has_reply_ = false;  // a result or an error
};
