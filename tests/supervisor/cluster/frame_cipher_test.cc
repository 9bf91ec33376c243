// Frames of a carried connection: only the other side's next frame opens.
#include "supervisor/cluster/node/frame_cipher.h"

#include "tests/catch.h"

using cluster::FrameCipher;

namespace {

struct Pair {
  FrameCipher::TunnelKeys asking_keys, asked_keys;
  FrameCipher asking = FrameCipher::make(asking_keys, FrameCipher::Side::asking, asked_keys.public_text()).value();
  FrameCipher requested =
      FrameCipher::make(asked_keys, FrameCipher::Side::requested, asking_keys.public_text()).value();
};

}  // namespace

TEST_CASE("frames open on the other side, in order, in both directions", "[cluster]") {
  Pair pair;
  for (const std::string content : {"", "a", "bc"}) {
    CHECK(pair.requested.open(pair.asking.seal(content)).value() == content);
    CHECK(pair.asking.open(pair.requested.seal(content)).value() == content);
  }
  CHECK(pair.asking.seal("secret").find("secret") == std::string::npos);
}

TEST_CASE("a frame that was repeated, left out, sent back, cut or changed does not open", "[cluster]") {
  Pair pair;
  const std::string first = pair.asking.seal("first"), second = pair.asking.seal("second");
  CHECK_FALSE(pair.requested.open(second));  // the first is missing
  CHECK_FALSE(pair.asking.open(first));      // of its own side
  for (size_t i = 0; i < first.size(); i++) {
    std::string changed = first;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    CHECK_FALSE(pair.requested.open(changed));
    CHECK_FALSE(pair.requested.open(first.substr(0, i)));
  }
  CHECK(pair.requested.open(first).value() == "first");
  CHECK_FALSE(pair.requested.open(first));
  CHECK(pair.requested.open(second).value() == "second");
  Pair stranger;
  CHECK_FALSE(stranger.requested.open(first));
}

TEST_CASE("a text that is no public key makes no cipher", "[cluster]") {
  const FrameCipher::TunnelKeys keys;
  for (const std::string text : {"", "x", "AAAA", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="})  // the last: zero
    CHECK_FALSE(FrameCipher::make(keys, FrameCipher::Side::asking, text));
}
