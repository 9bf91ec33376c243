// Values in D-Bus messages, on a bus connection whose other end says nothing.
#include "supervisor/operations/bus/message.h"

#include <sys/socket.h>

#include <set>

#include "supervisor/base/fd_pair.h"
#include "tests/catch.h"

namespace {

struct Silent {
  FdPair ends = make_sockets(SOCK_STREAM, Code::internal).value();
  bus::BusPtr connection;
  bus::MessagePtr message;

  Silent() {
    sd_bus* created = nullptr;
    REQUIRE(sd_bus_new(&created) >= 0);
    connection.reset(created);
    const int fd = ends.theirs.release();  // closed by the connection
    REQUIRE(sd_bus_set_fd(created, fd, fd) >= 0);
    REQUIRE(sd_bus_start(created) >= 0);
    sd_bus_message* signal = nullptr;
    REQUIRE(sd_bus_message_new_signal(created, &signal, "/a", "a.b", "C") >= 0);
    message.reset(signal);
  }
  sd_bus_message* get() { return message.get(); }
  // After this the message can be read.
  void seal() {
    REQUIRE(sd_bus_message_seal(get(), 1, 0) >= 0);
    REQUIRE(sd_bus_message_rewind(get(), 1) >= 0);
  }
};

}  // namespace

TEST_CASE("each value is appended with the D-Bus type that its function names", "[bus]") {
  Silent s;
  const executions::Counts counts{{"ok", 2}, {"timeout", 1}};
  const std::map<std::string, executions::Counts> groups{{"python", counts}, {"shell", {}}};
  CHECK(bus::append(s.get(), std::string("text")) >= 0);
  CHECK(bus::append(s.get(), true) >= 0);
  CHECK(bus::append(s.get(), uint32_t{7}) >= 0);
  CHECK(bus::append(s.get(), uint64_t{1} << 40) >= 0);
  CHECK(bus::append(s.get(), 0.5) >= 0);
  CHECK(bus::append(s.get(), std::vector<std::string>{"a", "b"}) >= 0);
  CHECK(bus::append(s.get(), counts) >= 0);
  CHECK(bus::append(s.get(), groups) >= 0);
  s.seal();
  CHECK(std::string(sd_bus_message_get_signature(s.get(), 1)) == "sbutdasa{st}a{sa{st}}");
  const char* text = nullptr;
  int yes = 0;
  uint32_t small = 0;
  uint64_t large = 0;
  double half = 0;
  REQUIRE(sd_bus_message_read(s.get(), "sbutd", &text, &yes, &small, &large, &half) >= 0);
  CHECK(std::string(text) == "text");
  CHECK(yes == 1);
  CHECK(small == 7);
  CHECK(large == uint64_t{1} << 40);
  CHECK(half == 0.5);
}

TEST_CASE("text that is not UTF-8 is made valid, as one wrong byte ends a connection to the bus", "[bus]") {
  Silent s;
  CHECK(bus::append(s.get(), std::string("a\xff"
                                         "b")) >= 0);
  CHECK(bus::append(s.get(), std::vector<std::string>{"\xc0\x80"}) >= 0);
  CHECK(bus::append(s.get(), executions::Counts{{"\xed\xa0\x80", 1}}) >= 0);
  s.seal();
  const char* text = nullptr;
  REQUIRE(sd_bus_message_read(s.get(), "s", &text) >= 0);
  CHECK(std::string(text) ==
        "a\xef\xbf\xbd"
        "b");
  CHECK(bus::error_text(Error{Code::invalid, 0, "bad \xff", "use \xfe", {}}) == "bad \xef\xbf\xbd; use \xef\xbf\xbd");
}

TEST_CASE("each code has a D-Bus error name of its own", "[bus]") {
  CHECK(bus::error_name(Code::not_found) == "org.warder.Warder1.Error.NotFound");
  CHECK(bus::error_name(Code::denied) == "org.warder.Warder1.Error.Denied");
  std::set<std::string> names;
  for (const Code code :
       {Code::invalid, Code::not_found, Code::denied, Code::exhausted, Code::unavailable, Code::internal}) {
    const std::string name = bus::error_name(code);
    CHECK(sd_bus_interface_name_is_valid(name.c_str()) > 0);
    names.insert(name);
  }
  CHECK(names.size() == 6);
  CHECK(bus::error_text(Error{Code::invalid, 0, "only this", {}, {}}) == "only this");
}
