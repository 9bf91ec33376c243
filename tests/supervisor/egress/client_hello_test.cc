// The server's name in the first message of TLS: found in any cut of the bytes, refused where it is not certain.
#include "supervisor/egress/client_hello.h"

#include "tests/catch.h"

using egress::ClientHelloReader;
using State = ClientHelloReader::State;

namespace {

std::string number(size_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; i--) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::string counted(const std::string& text, int bytes) { return number(text.size(), bytes) + text; }

std::string extension(size_t type, const std::string& body) { return number(type, 2) + counted(body, 2); }

std::string server_name(const std::string& host, size_t type = 0) {
  return extension(0, counted(number(type, 1) + counted(host, 2), 2));
}

std::string message(const std::string& extensions) {
  const std::string body = "\x03\x03" + std::string(32, 'r') + counted("session", 1) + counted("\x13\x01", 2) +
                           counted(std::string(1, '\0'), 1) + counted(extensions, 2);
  return "\x01" + counted(body, 3);
}

std::string records(const std::string& message, size_t max = 16'384) {
  std::string all;
  for (size_t at = 0; at < message.size(); at += max) all += "\x16\x03\x01" + counted(message.substr(at, max), 2);
  return all;
}

State read(const std::string& bytes, std::string* name = nullptr, size_t piece = SIZE_MAX) {
  ClientHelloReader reader;
  State state = State::more;
  for (size_t at = 0; at < bytes.size() && state == State::more; at += std::min(piece, bytes.size() - at))
    state = reader.feed(std::string_view(bytes).substr(at, piece));
  if (name) *name = reader.name();
  return state;
}

}  // namespace

TEST_CASE("the name is found in any cut of the bytes") {
  const std::string hello = message(extension(10, "groups") + server_name("Api.Example.COM") + extension(16, "alpn"));
  for (const size_t record : {size_t{1}, size_t{7}, size_t{100}, size_t{16'384}}) {
    if (hello.size() / record > 64) continue;  // more records than are read
    for (const size_t piece : {size_t{1}, size_t{3}, size_t{50}, SIZE_MAX}) {
      std::string name;
      CHECK(read(records(hello, record), &name, piece) == State::found);
      CHECK(name == "api.example.com");
    }
  }
  CHECK(read(records(hello).substr(0, 60)) == State::more);
}

TEST_CASE("messages without a certain name") {
  CHECK(read(records(message(extension(10, "groups")))) == State::no_name);
  CHECK(read(records(message(""))) == State::no_name);
  CHECK(read(records(message(server_name("a.com") + server_name("b.com")))) == State::malformed);
  CHECK(read(records(message(server_name("")))) == State::malformed);
  CHECK(read(records(message(server_name("a.com", 1)))) == State::malformed);
  CHECK(read(records(message(server_name(std::string(256, 'a'))))) == State::malformed);
  const std::string two =
      extension(0, counted(number(0, 1) + counted("a.com", 2) + number(0, 1) + counted("b.com", 2), 2));
  CHECK(read(records(message(two))) == State::malformed);
  CHECK(read(records(message(server_name("a.com") + "x"))) == State::malformed);
  std::string longer = message(server_name("a.com"));
  longer[3] = static_cast<char>(longer[3] + 4);  // its length is longer than its parts
  CHECK(read(records(longer + "zzzz")) == State::malformed);
}

TEST_CASE("another protocol, or too long") {
  CHECK(read("SSH-2.0-OpenSSH_9.2\r\n") == State::not_tls);
  CHECK(read("GET / HTTP/1.1\r\n\r\n") == State::not_tls);
  CHECK(read(std::string("\x16\x02\x01\x00\x01", 5)) == State::not_tls);
  CHECK(read(std::string("\x15\x03\x01\x00\x02\x02\x28", 7)) == State::not_tls);
  CHECK(read(std::string("\x16\x03\x01\x00\x00", 5)) == State::malformed);
  CHECK(read(std::string("\x16\x03\x01\x41\x00", 5) + std::string(0x4100, 'x')) == State::malformed);
  CHECK(read(records(std::string("\x02\x00\x00\x01x", 5))) == State::malformed);
  CHECK(read(records("\x01\xff\xff\xff" + std::string(70'000, 'x'))) == State::too_long);
  CHECK(read(records(std::string("\x01\x00\x10\x00", 4) + std::string(100, 'x'), 1)) ==
        State::too_long);  // too many records
  ClientHelloReader reader;
  CHECK(reader.feed("x") == State::not_tls);
  CHECK(reader.feed(records(message(server_name("a.com")))) == State::not_tls);  // it stays so
}
