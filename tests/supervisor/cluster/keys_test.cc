// Keys and their texts, files of private keys, NATS keys, join requests.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "supervisor/base/base64.h"
#include "supervisor/cluster/trust/join_request.h"
#include "supervisor/cluster/trust/private_file.h"
#include "tests/catch.h"
#include "tests/supervisor/cluster/trust_fixture.h"
#include "tests/temp_directory.h"

using namespace cluster;
using trust_test::key_of;

namespace {

std::string bytes_of_hex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

struct KeyFile {
  std::string write(const std::string& text, mode_t mode) {
    const std::string path = std::filesystem::canonical(std::string(folder.path())) / "node.key";
    ::unlink(path.c_str());
    std::ofstream(path) << text;
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    return path;
  }
  TempDirectory folder;
};

}  // namespace

TEST_CASE("keys are those of RFC 8032, and have one text", "[cluster]") {
  // RFC 8032, 7.1, test 1.
  const std::string seed = bytes_of_hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
  const auto key = PrivateKey::parse("warder-ed25519-seed:" + to_base64(seed) + "\n");
  REQUIRE(key);
  const std::string open = bytes_of_hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  CHECK(key->public_key().text() == "ed25519:" + to_base64(open));
  CHECK(PublicKey::parse(key->public_key().text()) == key->public_key());
  std::string secret = key->secret_text();
  CHECK(PrivateKey::parse(secret)->public_key() == key->public_key());
  CHECK(PrivateKey::generate().public_key() != PrivateKey::generate().public_key());

  std::string other = key->public_key().text();  // the last character has two bits that say nothing
  other[other.size() - 2] = other[other.size() - 2] == 'o' ? 'p' : static_cast<char>(other[other.size() - 2] + 1);
  const std::string torsion(1, '\1');
  for (const std::string& text :
       {std::string(), std::string("ed25519:"), other, key->public_key().text() + "\n", " " + key->public_key().text(),
        "ed25519:" + to_base64(std::string(32, '\0')), "ed25519:" + to_base64(torsion + std::string(31, '\0')),
        "ed25519:" + to_base64(std::string(32, '\xff')), "rsa:" + to_base64(open)}) {
    INFO(text);
    CHECK_FALSE(PublicKey::parse(text));
  }
}

TEST_CASE("a signature is for one purpose, one key and one text", "[cluster]") {
  const PrivateKey key = key_of(1);
  const Signature signature = key.sign(kRulePurpose, "text");
  CHECK(key.public_key().verifies(kRulePurpose, "text", signature));
  CHECK_FALSE(key.public_key().verifies(kEnvelopePurpose, "text", signature));
  CHECK_FALSE(key.public_key().verifies(kRulePurpose, "texts", signature));
  CHECK_FALSE(key_of(2).public_key().verifies(kRulePurpose, "text", signature));
  CHECK_FALSE(PublicKey().verifies(kRulePurpose, "text", Signature{}));
  // The border between purpose and text cannot be moved.
  CHECK_FALSE(key.public_key().verifies("warder rule", std::string(" 1") + '\0' + "text", signature));
  CHECK(parse_signature(text_of(signature)) == signature);
  CHECK_FALSE(parse_signature(text_of(signature) + "="));
}

TEST_CASE_METHOD(KeyFile, "a private key is read only from a file that nobody else can read", "[cluster]") {
  const std::string text = key_of(3).secret_text();
  for (const mode_t mode : {0600, 0400}) CHECK(PrivateKey::load(write(text, mode)));
  for (const mode_t mode : {0640, 0604, 0660, 0622, 0700, 04644}) {
    const auto key = PrivateKey::load(write(text, mode));
    REQUIRE_FALSE(key);
    CHECK(key.error().code == Code::denied);
    CHECK(key.error().what.find("mode") != std::string::npos);
    CHECK(key.error().hint.find("chmod 600") != std::string::npos);
  }
  const std::string path = write(text, 0600);
  const std::string link = path + ".link";
  REQUIRE(::symlink(path.c_str(), link.c_str()) == 0);
  CHECK(PrivateKey::load(link).error().code == Code::denied);
  const std::string fifo = path + ".fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(PrivateKey::load(fifo).error().what.find("regular") != std::string::npos);
  CHECK(PrivateKey::load(path + ".none").error().code == Code::not_found);
  CHECK(PrivateKey::load(write(std::string(5000, 'a'), 0600)).error().code == Code::exhausted);
  const auto damaged = PrivateKey::load(write(text.substr(0, 60), 0600));
  CHECK(damaged.error().what.find("node.key") != std::string::npos);
  CHECK(damaged.error().what.find(text.substr(20, 20)) == std::string::npos);  // no part of the secret
  if (::geteuid() == 0) {
    write(text, 0600);
    REQUIRE(::chown(path.c_str(), 4242, 4242) == 0);
    CHECK(PrivateKey::load(path).error().what.find("4242") != std::string::npos);
  }
}

TEST_CASE_METHOD(KeyFile, "files are written whole, and not replaced unasked", "[cluster]") {
  const std::string path = write("old", 0600);
  const auto refused = write_whole_file(path, "new", 0600, Existing::refuse);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("exists already") != std::string::npos);
  CHECK(read_private_file(path) == "old");
  REQUIRE(write_whole_file(path, "new", 0400, Existing::replace));
  CHECK(read_private_file(path) == "new");
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()))
    files += entry.is_regular_file() ? 1 : 0;
  CHECK(files == 1);
  REQUIRE(::chmod(path.c_str(), 0666) == 0);
  CHECK(read_trusted_file(path, 100).error().code == Code::denied);
}

TEST_CASE("NATS keys have the texts that nats-server knows", "[cluster]") {
  CHECK(crc16_xmodem("123456789") == 0x31c3);  // the check value of CRC-16/XMODEM
  // docs.nats.io, "NKeys": an example of the program nk.
  const std::string seed = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
  const std::string open = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";
  CHECK(nkey_public_key(seed) == open);
  CHECK(nkey_public_key(seed + "\n") == open);
  const auto key = parse_nkey_public(open);
  REQUIRE(key);
  CHECK(nkey_public_text(*key) == open);
  const std::string text = new_nkey_seed();
  CHECK((text.size() == 58 && text.starts_with("SU")));
  CHECK(nkey_public_key(text)->starts_with("U"));
  CHECK(nkey_sign(text, "nonce")->size() == 64);
  for (size_t i = 0; i < open.size(); i++) {  // each wrong character is found
    std::string wrong = open, wrong_seed = seed;
    wrong[i] = wrong[i] == 'A' ? 'B' : 'A';
    wrong_seed[i] = wrong_seed[i] == 'A' ? 'B' : 'A';
    CHECK_FALSE(parse_nkey_public(wrong));
    CHECK_FALSE(nkey_public_key(wrong_seed));
    CHECK_FALSE(parse_nkey_public(open.substr(0, i)));
  }
  const auto refused = nkey_public_key(seed.substr(0, 57));
  CHECK(refused.error().what.find(seed.substr(0, 10)) == std::string::npos);
}

TEST_CASE_METHOD(KeyFile, "the seed of a NATS key is read as safely as a private key", "[cluster]") {
  const std::string seed = new_nkey_seed();
  CHECK(read_nkey_seed(write(seed + "\n", 0600)) == seed);
  CHECK(read_nkey_seed(write(seed, 0640)).error().code == Code::denied);
  CHECK(read_nkey_seed(write("SUA", 0600)).error().what.find("node.key") != std::string::npos);
}

TEST_CASE("a join request brings its keys, and proves that the node has them", "[cluster]") {
  JoinRequest request;
  request.cluster = "c1";
  request.node = "n2";
  request.nats = nkey_public_text(key_of(7).public_key());
  const std::string fresh = make_join_request(request, key_of(5), nullptr).value();
  const auto read = read_join_request(fresh + "\n");
  REQUIRE(read);
  CHECK((read->node == "n2" && read->cluster == "c1" && read->key == key_of(5).public_key() && !read->replaces));

  const PrivateKey old = key_of(6);
  const std::string changed = make_join_request(request, key_of(5), &old).value();
  CHECK(read_join_request(changed)->replaces == old.public_key());

  const auto refused = [](const std::string& line) {
    const auto join_request = read_join_request(line);
    return !join_request && !join_request.error().hint.empty();
  };
  for (const std::string& line : {fresh, changed}) {
    for (size_t i = 0; i < line.size(); i++) {
      CHECK(refused(line.substr(0, i)));
      std::string wrong = line;
      wrong[i] = wrong[i] == 'A' ? 'B' : 'A';
      CHECK(refused(wrong));
    }
  }
  // Signatures of another request, by another key, or without the old key.
  const std::string other = make_join_request(request, key_of(8), nullptr).value();
  CHECK(refused(fresh.substr(0, fresh.find('.')) + other.substr(other.find('.'))));
  CHECK(refused(changed.substr(0, changed.rfind('.'))));
  CHECK(refused(changed.substr(0, changed.rfind('.')) + changed.substr(changed.find('.'), 89)));
  CHECK(refused(fresh + fresh.substr(fresh.find('.'))));
  request.node = "N2";
  CHECK(make_join_request(request, key_of(5), nullptr).error().what.starts_with("node:"));
}

TEST_CASE("a secret is encrypted for one key and one purpose", "[cluster]") {
  const PrivateKey own = PrivateKey::generate(), other = PrivateKey::generate();
  const std::string secret("a\0b", 3);
  const auto text = own.public_key().encrypt(kVaultKeyPurpose, secret);
  REQUIRE(text);
  CHECK(text->find(secret) == std::string::npos);
  CHECK(*text != own.public_key().encrypt(kVaultKeyPurpose, secret).value());  // each time another text
  CHECK(own.decrypt(kVaultKeyPurpose, *text).value() == secret);
  CHECK(other.decrypt(kVaultKeyPurpose, *text).error().code == Code::denied);
  CHECK(own.decrypt(kJoinPurpose, *text).error().code == Code::denied);
  std::string changed = from_base64(*text).value();
  changed.back() = static_cast<char>(changed.back() ^ 1);
  for (const std::string& wrong :
       {std::string(), to_base64(changed), to_base64(changed.substr(0, 20)), std::string("AAAA")})
    CHECK(own.decrypt(kVaultKeyPurpose, wrong).error().code == Code::denied);
  CHECK(own.decrypt(kVaultKeyPurpose, "no base64").error().code == Code::invalid);
}
