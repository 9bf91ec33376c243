// Signed rules that warder-node gives to warderd: texts, with a line "---" between two. The first byte of each chooses:
// r the text as it is; a a rule that an authority has signed; o the same of another key. The latter two are
//   KIND NAME SERIAL, a newline, and the content.
// Whatever comes: only rules of the authority are stored, their files have names of policies, and a new start reads
// the same.
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "policies/names.h"
#include "supervisor/cluster/link/rule_files.h"
#include "supervisor/cluster/trust/private_file.h"
#include "supervisor/cluster/trust/trust_record.h"
#include "tests/temp_directory.h"

namespace {

namespace fs = std::filesystem;
using namespace cluster;

void require(bool holds) {
  if (!holds) std::abort();
}

PrivateKey key_of(unsigned char byte) {
  PrivateKey::Seed seed{};
  seed.fill(byte);
  return PrivateKey::of_seed(seed);
}
const PrivateKey& authority() {
  static const PrivateKey kAuthority = key_of(90);
  return kAuthority;
}
const PrivateKey& other() {
  static const PrivateKey kOther = key_of(7);
  return kOther;
}

// A folder of the file system in memory, with the trust record of a machine.
struct Machine {
  Machine() {
    ::setenv("TMPDIR", "/dev/shm", 0);
    top.emplace();
    root = fs::canonical(top->path());
    TrustRecord record;
    record.cluster = "c1";
    record.serial = 1;
    record.authorities = {authority().public_key()};
    require(write_whole_file(root / "anchor", sign_trust(record, authority()).value(), 0644, Existing::replace)
                .has_value());
  }
  RuleFiles open() const { return RuleFiles::open(root / "anchor", root).value(); }
  std::optional<TempDirectory> top;
  fs::path root;
};

std::string_view until(std::string_view& text, char end) {
  const size_t at = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

std::string signed_text(std::string_view text, const PrivateKey& by) {
  SignedRule rule;
  rule.cluster = "c1";
  rule.kind = until(text, ' ');
  rule.name = until(text, ' ');
  const std::string_view serial = until(text, '\n');
  std::from_chars(serial.data(), serial.data() + serial.size(), rule.serial);
  rule.content = text.substr(0, kMaxRuleContent);
  return sign_rule(std::move(rule), by).value_or("");
}

std::vector<std::string> texts_of(std::string_view all) {
  std::vector<std::string> texts;
  while (!all.empty() && texts.size() < 20) {
    const size_t end = std::min(all.find("\n---\n"), all.size());
    const std::string_view text = all.substr(0, end);
    if (!text.empty() && text[0] == 'a') texts.push_back(signed_text(text.substr(1), authority()));
    if (!text.empty() && text[0] == 'o') texts.push_back(signed_text(text.substr(1), other()));
    if (!text.empty() && text[0] == 'r') texts.emplace_back(text.substr(1));
    all.remove_prefix(std::min(end + 5, all.size()));
  }
  return texts;
}

void check_folder(const fs::path& policies) {
  for (const auto& entry : fs::directory_iterator(policies)) {
    const fs::path file = entry.path();
    require(entry.is_regular_file() && file.extension() == ".json" && policies::valid_name(file.stem().string()) &&
            file.stem() != "tenants");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Machine kMachine;
  const fs::path state = kMachine.root / "cluster";
  const auto texts = texts_of({reinterpret_cast<const char*>(data), size});
  RuleFiles files = kMachine.open();
  const auto reserved = files.take(texts);
  require(reserved.has_value());
  require(files.apply(reserved->policies).has_value());
  check_folder(state / "policies");
  std::vector<std::string> refused;
  const size_t definitions = files.definitions(refused).size();
  require(files.write_skills(refused).has_value());
  const size_t skills = files.read_skills().value().size();
  require(skills <= kMaxRuleSkills);
  for (const auto& entry : fs::directory_iterator(state / "rules")) {
    const auto text = read_trusted_file(entry.path(), kMaxRuleText);
    require(text && read_signed_rule(*text)->by == authority().public_key());
  }
  RuleFiles rule_files = kMachine.open();
  const auto same = rule_files.take(texts);
  require(same && same->policies.empty() && !same->has_catalog_changed);
  require(rule_files.definitions(refused).size() == definitions);
  require(rule_files.write_skills(refused) == false && rule_files.read_skills()->size() == skills);
  fs::remove_all(state);
  return 0;
}
