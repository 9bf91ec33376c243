// SecretFilter: replaces a secret in a stream of bytes, also one in two parts.
// Source: what a host answers to a request that had the secret; it may echo it. Hidden are the value, the value after
// an authentication scheme ("Bearer abc": abc), the two parts of a Basic value, and each of them as JSON and as a URL
// would write it. Other encodings of a host are not found. Used by: the proxy, for rules with a secret.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace egress {

class SecretFilter {
 public:
  explicit SecretFilter(std::string_view value);
  // The bytes that can be passed on: all but an end that may be the beginning of a secret.
  std::string feed(std::string_view bytes);
  // The bytes that were held back.
  std::string finish();
  // A whole text, for example a header.
  std::string hide(std::string_view text) const;

 private:
  std::string replace(std::string_view text, size_t& saved_from, bool is_end) const;

  std::vector<std::string> secrets_;  // the longest first
  std::string pending_;
};

}  // namespace egress
