// Kinds of addresses: what a rule lets the proxy dial, also in the disguises of IPv6.
#include "supervisor/protocol/http/addresses.h"

#include "tests/catch.h"

using http::AddressKind;
using http::kind_of_address;

TEST_CASE("public addresses") {
  for (const char* text :
       {"93.184.216.34", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:2800:220:1:248:1893:25c8:1946",
        "2001:4860:4860::8888", "64:ff9b::5db8:d822", "::ffff:93.184.216.34"}) {
    INFO(text);
    CHECK(kind_of_address(text) == AddressKind::public_unicast);
  }
}

TEST_CASE("private addresses") {
  for (const char* text : {"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1", "fd00::1",
                           "fc00::1", "::ffff:10.0.0.1", "64:ff9b::a00:1"}) {
    INFO(text);
    CHECK(kind_of_address(text) == AddressKind::private_use);
  }
  for (const char* text : {"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"}) {
    INFO(text);
    CHECK(kind_of_address(text) == AddressKind::loopback);
  }
}

TEST_CASE("addresses of no host, of metadata services, and other texts") {
  for (const char* text : {"0.0.0.0",
                           "0.1.2.3",
                           "169.254.169.254",
                           "168.63.129.16",
                           "100.100.100.200",
                           "fd00:c1::a9fe:a9fe",
                           "192.0.0.1",
                           "192.0.2.1",
                           "192.88.99.1",
                           "198.18.0.1",
                           "198.19.255.255",
                           "198.51.100.1",
                           "203.0.113.1",
                           "224.0.0.1",
                           "240.0.0.1",
                           "255.255.255.255",
                           "::",
                           "::7f00:1",
                           "fe80::1",
                           "fec0::1",
                           "ff02::1",
                           "2001::1",
                           "2001:10::1",
                           "2001:db8::1",
                           "2002:7f00:1::",
                           "3fff::1",
                           "5f00::1",
                           "fd00:ec2::254",
                           "fd20:ce::254",
                           "::ffff:169.254.169.254",
                           "64:ff9b::a9fe:a9fe",
                           "64:ff9b:1::1",
                           "100::1",
                           "fe80::1%eth0",
                           "127.1",
                           "0x7f.0.0.1",
                           "localhost",
                           "",
                           "1.2.3.4 ",
                           "1.2.3.4.5"}) {
    INFO(text);
    CHECK(kind_of_address(text) == AddressKind::forbidden);
  }
  CHECK(kind_of_address(std::string_view("1.1.1.1\0x", 9)) == AddressKind::forbidden);
  CHECK(http::is_own_address("127.0.0.1"));
  CHECK_FALSE(http::is_own_address("192.0.2.1"));
  CHECK_FALSE(http::is_own_address("none"));
  CHECK(http::why_refused("127.0.0.1") == "127.0.0.1 is an address of this machine");
  CHECK(http::why_refused("10.0.0.1") == "10.0.0.1 is in a private network");
}
