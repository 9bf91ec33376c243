#include "supervisor/base/deceiving_text.h"

size_t deceiving_bytes(std::string_view text) {
  const auto at = [&text](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  if (text.empty()) return 0;
  if (at(0) < 0x20 || at(0) == 0x7F) return 1;
  if (at(0) == 0xC2 && at(1) < 0xA0) return 2;   // C1
  if (at(0) == 0xD8 && at(1) == 0x9C) return 2;  // U+061C
  if (at(0) == 0xE2 && at(1) == 0x80 && ((at(2) >= 0x8B && at(2) <= 0x8F) || (at(2) >= 0xA8 && at(2) <= 0xAE)))
    return 3;                                                                      // zero width, direction, separators
  if (at(0) == 0xE2 && at(1) == 0x81 && at(2) >= 0xA0 && at(2) <= 0xAF) return 3;  // U+2060 to U+206F
  if (at(0) == 0xEF && at(1) == 0xBB && at(2) == 0xBF) return 3;                   // U+FEFF
  if (at(0) == 0xF3 && at(1) == 0xA0 && at(2) <= 0x81) return 4;                   // tags
  return 0;
}
