// FNV-1a, the hash of Fowler, Noll and Vo, with 64 or 32 bits. Fast for short texts. For tables inside the daemon only:
// it is no protection against texts that were chosen to collide.
#pragma once
#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

template <class Hash>
concept FnvWidth = std::same_as<Hash, uint64_t> || std::same_as<Hash, uint32_t>;

template <FnvWidth Hash>
constexpr Hash kFnvBasis = std::is_same_v<Hash, uint64_t> ? static_cast<Hash>(14695981039346656037U) : 2166136261U;

// Adds one part, usually a byte, to a hash that began with kFnvBasis.
template <FnvWidth Hash>
constexpr Hash fnv_add(Hash hash, Hash part) {
  return (hash ^ part) * (std::is_same_v<Hash, uint64_t> ? static_cast<Hash>(1099511628211U) : 16777619U);
}

template <FnvWidth Hash>
constexpr Hash fnv_of(std::string_view text) {
  Hash hash = kFnvBasis<Hash>;
  for (const char c : text) hash = fnv_add<Hash>(hash, static_cast<unsigned char>(c));
  return hash;
}
