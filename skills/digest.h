// Digest: SHA-256 in the form of the skills extension: "sha256:" and 64 lower case hexadecimal digits.
#pragma once
#include <string>
#include <string_view>

namespace skills {

std::string digest_of(std::string_view bytes);

}  // namespace skills
