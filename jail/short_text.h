// ShortText: a short C string, put together without snprintf(3) and without an allocation. Texts and numbers are added
// one after another. Used by: jail/pidfd.cc, jail/init/, jail/jailer/.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace jail {

template <size_t kSize>
class ShortText {
 public:
  // What does not fit is left out: is_cut() is true then.
  ShortText& operator<<(const char* text) {
    for (; *text; text++) add(*text);
    return *this;
  }
  ShortText& operator<<(uint64_t number) { return add_number(number, 10); }
  ShortText& octal(uint64_t number) { return add_number(number, 8); }
  ShortText& hex(uint64_t number) { return add_number(number, 16); }
  void add(char c) {
    if (length_ + 1 < kSize) {
      text_[length_++] = c;
    } else {
      is_cut_ = true;
    }
  }
  const char* c_str() const { return text_; }
  std::string_view view() const { return {text_, length_}; }
  bool is_cut() const { return is_cut_; }

 private:
  ShortText& add_number(uint64_t number, unsigned base) {
    char digits[24];
    size_t count = 0;
    do digits[count++] = "0123456789abcdef"[number % base];
    while ((number /= base) > 0);
    while (count > 0) add(digits[--count]);
    return *this;
  }
  char text_[kSize]{};
  size_t length_ = 0;
  bool is_cut_ = false;
};

}  // namespace jail
