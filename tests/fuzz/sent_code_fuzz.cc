// Code as clients send it. The first byte chooses the language: p, j, t, or any other for shell. Whatever comes: no
// line runs that was not sent, and shell code does not change without a note.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "supervisor/base/json/json.h"
#include "supervisor/executions/code_lines.h"
#include "supervisor/executions/sent_code.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

jail::Language language_of(uint8_t byte) {
  return byte == 'p'   ? jail::Language::python
         : byte == 'j' ? jail::Language::javascript
         : byte == 't' ? jail::Language::typescript
                       : jail::Language::shell;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const jail::Language language = language_of(data[0]);
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto sent = executions::read_sent_code(std::string(text), language);
  if (!sent) {
    require(!sent.error().what.empty() && !sent.error().hint.empty());
    return 0;
  }
  if (sent->code == text) {
    require(sent->notes.empty());
    return 0;
  }
  if (language == jail::Language::shell) require(!sent->notes.empty());
  for (const std::string& note : sent->notes) require(note.size() < 1000 && valid_utf8(note) == note);
  if (text.find("\"code\"") != text.npos) return 0;  // a text of JSON has other bytes than its value
  require(sent->code.size() < text.size());
  if (text.find('\r') != text.npos) return 0;
  for (const std::string_view line : executions::lines_of(sent->code)) require(text.find(line) != text.npos);
  return 0;
}
