// Texts of another node, or of a daemon that was killed, as the moves of workspaces read them. The first byte chooses:
//   r the records of a workspace. Records that are read are stored, and can move on from there
//   o the offer of a workspace
//   m the folder .moves: lines "NAME CONTENT"; NAME is a file, or "arriving.x", a folder with the file `complete`
//   v the log of a vault, sealed with the sender's key; each record begins with a byte, its size. Sealed with this
//     machine's key, it has the same tokens
#include <sodium.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "policies/names.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/path.h"
#include "supervisor/cluster/moves/move_files.h"
#include "supervisor/cluster/moves/move_records.h"
#include "supervisor/cluster/moves/move_stream.h"
#include "supervisor/tenants/vault_log.h"
#include "tests/supervisor/cluster/moves/memory_workflows.h"
#include "tests/temp_directory.h"

namespace {

namespace fs = std::filesystem;
using moves::MoveFiles;
using moves::MoveRecords;

void require(bool holds) {
  if (!holds) std::abort();
}

// A new folder of the file system in memory.
struct EmptyFolder {
  EmptyFolder() {
    ::setenv("TMPDIR", "/dev/shm", 0);
    top.emplace();
    root = fs::canonical(top->path());
    opened = open_directory(root.string()).value();
  }
  std::optional<TempDirectory> top;
  fs::path root;
  Fd opened;
};

std::string_view line_of(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

struct RecordStores {
  explicit RecordStores(Loop& loop) : tasks(loop, task_disk), named(loop, named_disk) {}
  tasks::MemoryTaskDisk task_disk, named_disk;
  tasks::TaskStore tasks, named;
  moves_test::MemoryWorkflows workflows;
  MoveRecords records{tasks, named, workflows};
};

Task<> take_and_write(MoveRecords& records, MoveRecords::Read read, Result<std::string>& written) {
  co_await records.adopt("ada", std::move(read));
  written = co_await records.write("ada");
}

void take_records(const std::string& text) {
  auto read = MoveRecords::read(text, "ada");
  if (!read) return require(read.error().what.find("line") != std::string::npos || text.size() > 200'000);
  for (const MoveRecords::Read::Ended& ended : read->ended) {
    require(tasks::is_ended(ended.task.state) && ended.task.owner.tenant == "ada");
    const bool is_result = !ended.is_named && ended.task.kind == tasks::TaskKind::call;
    if (is_result && ended.task.state == tasks::TaskState::completed) {
      require(ended.result.find('\n') == std::string::npos);
      require(parse_json("{" + ended.result + "}", 2 * kMaxJsonDepth).value().is_object());
    }
  }
  for (const auto& flow : read->flows) require(workflows::check_workflow_name(flow.name).has_value());
  Loop loop;
  RecordStores stores(loop);
  Result<std::string> written = fail(Code::internal, "");
  loop.spawn(take_and_write(stores.records, *std::move(read), written));
  loop.run_until([&] { return written || written.error().code != Code::internal; });
  require(written && MoveRecords::read(*written, "ada"));
}

void take_offer(std::string_view text) {
  const auto message = parse_json(text);
  if (!message) return;
  const auto offer = moves::read_offer(*message);
  if (!offer) return require(!offer.error().what.empty());
  require(offer->bytes > 0 && offer->sha256.size() <= 64);
  const Json written = moves::write_offer(*offer);
  const auto retry = moves::read_offer(written["snapshot"]);
  require(retry && retry->bytes == offer->bytes && retry->sha256 == offer->sha256 &&
          retry->has_vault == offer->has_vault && retry->vault_seal == offer->vault_seal);
}

void take_marks(std::string_view text) {
  const EmptyFolder tenants;
  const fs::path all = tenants.root / ".moves";
  fs::create_directories(all);
  for (int count = 0; !text.empty() && count < 20; count++) {
    std::string_view line = line_of(text);
    const size_t end = std::min(line.find(' '), line.size());
    const std::string name(line.substr(0, end));
    if (name.size() > 100 || !RelativePath::parse(name) || name.find('/') != std::string::npos) continue;
    if (fs::exists(all / name)) continue;
    const bool is_folder = name.starts_with("arriving.");
    if (is_folder) fs::create_directories(all / name);
    std::ofstream(is_folder ? all / name / "complete" : all / name) << line.substr(std::min(end + 1, line.size()));
  }
  const MoveFiles files(tenants.opened.get());
  const auto it = files.begin();
  if (!it) return require(!it.error().what.empty());
  for (const auto& item : it->leaving) {
    require(tenants::TenantId::parse(item.id.text()) == item.id && item.epoch > 0);
    require(files.set_aside(item.id).has_value() && files.unmark_leaving(item).has_value());
  }
  for (const auto& item : it->arrived) require(tenants::TenantId::parse(item.push.id.text()) == item.push.id);
  for (const auto& item : it->trash) require(files.empty_trash(item, [] { return false; }).has_value());
  for (const auto& entry : fs::directory_iterator(tenants.root))
    require(entry.path() == all || policies::valid_name(entry.path().filename().string()));
}

constexpr std::string_view kMagicOfVault = "warder vault 1\n";
void add_sealed(std::string& to, std::string_view plain, std::string_view with, const tenants::VaultKeys::Key& key) {
  const std::string nonce(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES, 'n');
  std::string sealed(plain.size() + crypto_aead_xchacha20poly1305_ietf_ABYTES, '\0');
  const auto bytes = [](const auto& text) { return reinterpret_cast<const unsigned char*>(text.data()); };
  crypto_aead_xchacha20poly1305_ietf_encrypt(reinterpret_cast<unsigned char*>(sealed.data()), nullptr, bytes(plain),
                                             plain.size(), bytes(with), with.size(), nullptr, bytes(nonce), key.data());
  to += nonce + sealed;
}

using Tokens = std::vector<std::pair<std::string, std::string>>;
Tokens tokens_of(int folder, const tenants::VaultKeys::Key& key, tenants::VaultRecords* records) {
  Tokens tokens;
  const auto match = [&](std::string_view token, std::string_view text, std::chrono::sys_seconds until) {
    tokens.emplace_back(token, text);
    if (records != nullptr) records->add(token, text, until);
  };
  require(tenants::VaultLog::open(folder, key, match).has_value());
  return tokens;
}

void take_vault(std::string_view text) {
  const EmptyFolder tree;
  tenants::VaultKeys::Key from{}, own{};
  from.fill(1), own.fill(2);
  std::string log(kMagicOfVault);
  add_sealed(log, "", kMagicOfVault, from);
  const std::string header = log;
  while (!text.empty()) {
    const size_t size = std::min<size_t>(static_cast<unsigned char>(text[0]), text.size() - 1);
    std::string record;
    add_sealed(record, text.substr(1, size), header, from);
    for (size_t i = 0; i < 4; i++) log += static_cast<char>(record.size() >> (8 * i) & 0xff);
    log += record;
    text.remove_prefix(1 + size);
  }
  fs::create_directories(tree.root / "vault");
  std::ofstream(tree.root / "vault/log", std::ios::binary) << log;
  tenants::VaultRecords records;
  const Tokens before = tokens_of(tree.opened.get(), from, &records);
  fs::remove_all(tree.root / "vault");
  const auto none = [](std::string_view, std::string_view, std::chrono::sys_seconds) {};
  require(tenants::VaultLog::open(tree.opened.get(), own, none).value()->rewrite(records).has_value());
  require(tokens_of(tree.opened.get(), own, nullptr) == before);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || ::sodium_init() < 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'r') take_records(std::string(rest));
  if (data[0] == 'o') take_offer(rest);
  if (data[0] == 'm') take_marks(rest);
  if (data[0] == 'v') take_vault(rest);
  return 0;
}
