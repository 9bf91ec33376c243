// Bytes of a TLS client in a tunnel: whole and cut into pieces, which must give the same. The first byte says how the
// rest is cut.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "supervisor/egress/client_hello.h"

namespace {

using egress::ClientHelloReader;

void require(bool holds) {
  if (!holds) std::abort();
}

ClientHelloReader::State read(std::string_view bytes, size_t piece, std::string& name) {
  ClientHelloReader reader;
  auto state = ClientHelloReader::State::more;
  while (!bytes.empty() && state == ClientHelloReader::State::more) {
    const std::string_view part = bytes.substr(0, piece);
    state = reader.feed(part);
    bytes.remove_prefix(part.size());
  }
  name = reader.name();
  return state;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string whole_name, pieces_name;
  const auto full = read(bytes, bytes.size() + 1, whole_name), pieces = read(bytes, data[0] % 64 + 1u, pieces_name);
  require(full == pieces && whole_name == pieces_name);
  if (full == ClientHelloReader::State::found) require(!whole_name.empty() && whole_name.size() <= 255);
  return 0;
}
