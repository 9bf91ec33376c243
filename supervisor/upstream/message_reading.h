// MessageReading: one text from an upstream server, read as a message, or the problem of a text without valid JSON.
// Servers send NaN and Infinity, messages over several lines, and other text: their caller gets the problem at once.
// Source: hostile text. Used by: client.cc. No function here fails.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/json/envelope_scan.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/upstream/secrets.h"

namespace upstream {

struct MessageReading {
  std::optional<Json> message;
  // The following only if there is no message:
  std::string problem;         // "NaN or Infinity, which JSON does not have"
  std::optional<int64_t> of;   // the request that the text answers
  std::optional<Json> mended;  // the message with null in place of NaN and Infinity
};

// Hides the secrets in `text` and reads it. Runs on any thread.
MessageReading read_message_text(const Variables& secrets, std::string_view text);

// TornMessage: finds the answer that a server writes over several lines. Each of these lines alone is broken JSON.
class TornMessage {
 public:
  // `line`: is no message. Returns the request that the lines up to this one answer, if they do.
  std::optional<int64_t> add(std::string_view line);
  // A whole message came: the lines before it are dropped.
  void forget() { *this = {}; }

 private:
  static constexpr size_t kMaxBytes = 4 << 20;
  EnvelopeScan scan_;
  size_t bytes_ = 0;  // 0: no message has begun
};

// The id of a request as a number: it may come back as a text, which some servers make of it.
std::optional<int64_t> request_id(const Json& id);

}  // namespace upstream
