#include "supervisor/protocol/http/addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "supervisor/base/fd.h"

namespace http {
namespace {

struct V4Block {
  uint32_t base;
  int bits;
  AddressKind kind;
};

constexpr uint32_t v4(uint32_t a, uint32_t b, uint32_t c, uint32_t d) { return a << 24 | b << 16 | c << 8 | d; }

constexpr uint16_t kDiscardPort = 9;

constexpr auto kForbidden = AddressKind::forbidden;
constexpr auto kPrivate = AddressKind::private_use;
constexpr auto kLoopbackKind = AddressKind::loopback;

// The first block that fits decides.
constexpr V4Block kV4Blocks[] = {
    {v4(0, 0, 0, 0), 8, kForbidden},           // "this network"
    {v4(10, 0, 0, 0), 8, kPrivate},            //
    {v4(100, 100, 100, 200), 32, kForbidden},  // metadata of a cloud (Alibaba)
    {v4(100, 64, 0, 0), 10, kPrivate},         // shared by customers of a provider
    {v4(127, 0, 0, 0), 8, kLoopbackKind},      //
    {v4(168, 63, 129, 16), 32, kForbidden},    // metadata of a cloud (Azure)
    {v4(169, 254, 0, 0), 16, kForbidden},      // link-local: metadata of clouds
    {v4(172, 16, 0, 0), 12, kPrivate},         //
    {v4(192, 0, 0, 0), 24, kForbidden},        // protocol assignments
    {v4(192, 0, 2, 0), 24, kForbidden},        // documentation
    {v4(192, 88, 99, 0), 24, kForbidden},      // 6to4 relays
    {v4(192, 168, 0, 0), 16, kPrivate},        //
    {v4(198, 18, 0, 0), 15, kForbidden},       // benchmarks
    {v4(198, 51, 100, 0), 24, kForbidden},     // documentation
    {v4(203, 0, 113, 0), 24, kForbidden},      // documentation
    {v4(224, 0, 0, 0), 3, kForbidden},         // multicast, reserved, broadcast
};

AddressKind kind_of_v4(uint32_t address) {
  for (const V4Block& block : kV4Blocks)
    if ((address ^ block.base) >> (32 - block.bits) == 0) return block.kind;
  return AddressKind::public_unicast;
}

using V6Bytes = std::array<uint8_t, 16>;

struct V6Block {
  V6Bytes base;
  int bits;
};

bool is_in(const V6Bytes& address, const V6Block& block) {
  const auto full = static_cast<size_t>(block.bits / 8);
  if (std::memcmp(address.data(), block.base.data(), full) != 0) return false;
  const int rest = block.bits % 8;
  return rest == 0 || (address[full] ^ block.base[full]) >> (8 - rest) == 0;
}

constexpr V6Block kMapped{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96};
constexpr V6Block kNat64{{0, 0x64, 0xff, 0x9b}, 96};
constexpr V6Block kUniqueLocal{{0xfc}, 7};
constexpr V6Block kGlobal{{0x20}, 3};
constexpr V6Block kLoopback{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128};
constexpr V6Block kAmazonMetadata{{0xfd, 0, 0x0e, 0xc2}, 32};
constexpr V6Block kOracleMetadata{{0xfd, 0, 0, 0xc1}, 32};
constexpr V6Block kGoogleMetadata{{0xfd, 0x20, 0, 0xce}, 32};
constexpr V6Block kOfNoHost[] = {
    {{0x20, 0x01, 0x00}, 23},        // protocol assignments: Teredo, ORCHID, benchmarks
    {{0x20, 0x01, 0x0d, 0xb8}, 32},  // documentation
    {{0x20, 0x02}, 16},              // 6to4
    {{0x3f, 0xff}, 20},              // documentation
};

AddressKind kind_of_v6(const V6Bytes& address) {
  if (is_in(address, kMapped) || is_in(address, kNat64))
    return kind_of_v4(v4(address[12], address[13], address[14], address[15]));
  if (is_in(address, kAmazonMetadata) || is_in(address, kGoogleMetadata) || is_in(address, kOracleMetadata))
    return kForbidden;
  if (is_in(address, kLoopback)) return kLoopbackKind;
  if (is_in(address, kUniqueLocal)) return kPrivate;
  if (!is_in(address, kGlobal)) return kForbidden;
  const bool is_of_no_host = std::any_of(std::begin(kOfNoHost), std::end(kOfNoHost),
                                         [&](const V6Block& block) { return is_in(address, block); });
  return is_of_no_host ? kForbidden : AddressKind::public_unicast;
}

}  // namespace

AddressKind kind_of_address(std::string_view text) {
  const std::string terminated(text);
  if (terminated.size() != std::strlen(terminated.c_str())) return kForbidden;
  in_addr four{};
  if (::inet_pton(AF_INET, terminated.c_str(), &four) == 1) return kind_of_v4(ntohl(four.s_addr));
  V6Bytes six{};
  if (::inet_pton(AF_INET6, terminated.c_str(), six.data()) == 1) return kind_of_v6(six);
  return kForbidden;
}

// A datagram socket that is connected to an address of this machine has it at both ends; no packet is sent.
bool is_own_address(std::string_view text) {
  const std::string terminated(text);
  sockaddr_storage there{}, here{};
  auto* four = reinterpret_cast<sockaddr_in*>(&there);
  auto* six = reinterpret_cast<sockaddr_in6*>(&there);
  socklen_t size = 0;
  if (::inet_pton(AF_INET, terminated.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(kDiscardPort);
    size = sizeof *four;
  } else if (::inet_pton(AF_INET6, terminated.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(kDiscardPort);
    size = sizeof *six;
  }
  const Fd probe(size == 0 ? -1 : ::socket(there.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe || ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&there), size) < 0) return false;
  size = sizeof here;
  if (::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&here), &size) < 0) return false;
  if (there.ss_family == AF_INET)
    return four->sin_addr.s_addr == reinterpret_cast<const sockaddr_in*>(&here)->sin_addr.s_addr;
  return std::memcmp(&six->sin6_addr, &reinterpret_cast<const sockaddr_in6*>(&here)->sin6_addr, sizeof(in6_addr)) == 0;
}

std::string why_refused(std::string_view text) {
  const char* why = " is an address of no public host";
  const AddressKind kind = kind_of_address(text);
  if (kind == AddressKind::private_use) why = " is in a private network";
  if (kind == AddressKind::loopback || (kind != AddressKind::forbidden && is_own_address(text)))
    why = " is an address of this machine";
  return std::string(text) + why;
}

}  // namespace http
