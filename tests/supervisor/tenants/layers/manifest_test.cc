#include "supervisor/tenants/layers/manifest.h"

#include "supervisor/tenants/layers/offers.h"
#include "tests/catch.h"

using layers::EntryKind;
using layers::Manifest;

namespace {

Manifest small_manifest() {
  Manifest manifest;
  manifest.python = "3.11";
  manifest.entries = {{"lib", EntryKind::folder, 0755, 0, "", ""},
                      {"lib/python3/dist-packages/six.py", EntryKind::file, 0644, 3, std::string(64, 'a'), ""},
                      {"lib/x", EntryKind::link, 0777, 0, "", "y\"z"}};
  return manifest;
}

}  // namespace

TEST_CASE("a manifest's text and back") {
  const std::string text = layers::manifest_text(small_manifest());
  const auto read = layers::parse_manifest(text);
  REQUIRE(read);
  CHECK(layers::manifest_text(*read) == text);
  CHECK(read->entries[2].target == "y\"z");
  CHECK(layers::is_layer_hash(layers::hash_of_manifest(text)));
  CHECK(layers::hash_of_manifest("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("a changed manifest has another hash, and a wrong one is refused") {
  const std::string text = layers::manifest_text(small_manifest());
  const std::string hash = layers::hash_of_manifest(text);
  Manifest other = small_manifest();
  other.entries[1].mode = 0755;
  CHECK(layers::hash_of_manifest(layers::manifest_text(other)) != hash);
  other = small_manifest();
  other.python = "3.13";
  CHECK(layers::hash_of_manifest(layers::manifest_text(other)) != hash);
  const auto refused = [&text](const std::string& from, const std::string& to) {
    std::string wrong = text;
    const size_t at = wrong.find(from);
    REQUIRE(at != wrong.npos);
    return !layers::parse_manifest(wrong.replace(at, from.size(), to));
  };
  CHECK(refused("\"lib/x\"", "\"../x\""));
  CHECK(refused("\"lib/x\"", "\"lib\""));
  CHECK(refused("\"mode\":420", "\"mode\":2541"));
  CHECK(refused("\"format\":1", "\"format\":2"));
  CHECK(refused("\"kind\":\"file\"", "\"kind\":\"device\""));
  CHECK(refused("\"bytes\":3", "\"bytes\":-3"));
  CHECK(refused(std::string(64, 'a'), std::string(64, 'A')));
  CHECK(refused("\"entries\":", "\"entrie\":"));
  CHECK_FALSE(layers::parse_manifest("[]"));
  CHECK_FALSE(layers::parse_manifest("{"));
}

TEST_CASE("what a layer offers") {
  Manifest manifest;
  const std::string location = "lib/python3/dist-packages/", node = "share/warder/node_modules/";
  for (const std::string& path :
       {location + "numpy/__init__.py", location + "numpy/core/a.so", location + "six.py", location + "_private.py",
        location + "a-1.dist-info/METADATA", location + "data/table.csv", node + "left-pad/package.json",
        node + "left-pad/node_modules/x/package.json", node + "@a/b/package.json"})
    manifest.entries.push_back({path, EntryKind::file, 0644, 0, std::string(64, '0'), ""});
  const auto offers = layers::offers_of(manifest);
  CHECK(offers.python == std::vector<std::string>{"numpy", "six"});
  CHECK(offers.node == std::vector<std::string>{"@a/b", "left-pad"});
}
