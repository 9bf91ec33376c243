#include "supervisor/tenants/proposals/base_state.h"

#include <sodium.h>

#include <algorithm>

namespace proposals {
namespace {

using tenants::FileKind;

class GenericHash {
 public:
  GenericHash() { crypto_generichash_init(&state_, nullptr, 0, kDigestBytes); }
  void add(std::string_view bytes) {
    add_number(bytes.size());
    crypto_generichash_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  }
  void add_number(uint64_t number) {
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = static_cast<unsigned char>(number >> (8 * i));
    crypto_generichash_update(&state_, bytes, sizeof bytes);
  }
  std::string finished() {
    std::string digest(kDigestBytes, '\0');
    crypto_generichash_final(&state_, reinterpret_cast<unsigned char*>(digest.data()), digest.size());
    return digest;
  }

 private:
  crypto_generichash_state state_;
};

bool is_hashed(const tenants::Entry& entry, const StampBudget& budget) {
  return entry.kind == FileKind::file && entry.size < kMaxHashedFile && entry.size <= budget.hashed_bytes;
}

// Empty: the file cannot be read, so its stamp alone decides.
std::string digest_of_file(int root, const std::string& path, StampBudget& budget) {
  const auto text = read_regular(root, path, kMaxHashedFile);
  if (!text) return {};
  budget.hashed_bytes -= std::min<uint64_t>(budget.hashed_bytes, text->size());
  GenericHash hash;
  hash.add(*text);
  return hash.finished();
}

Result<std::string> digest_of(int root, const std::string& path, const tenants::Entry& entry, StampBudget& budget) {
  if (entry.kind == FileKind::directory) return digest_below(root, path, DigestTimes::mtime_and_ctime, budget.entries);
  if (!is_hashed(entry, budget)) return std::string();
  return digest_of_file(root, path, budget);
}

// Without digests. A folder's own times change with its entries, which its digest or their own steps cover.
bool is_same_entry(const BaseStamp& then, const tenants::Entry& now) {
  if (identity_of(now) != then.identity || now.mode != then.mode) return false;
  if (now.kind == FileKind::directory) return true;
  return now.size == then.size && now.mtime_ns == then.mtime_ns && now.ctime_ns == then.ctime_ns;
}

}  // namespace

Result<std::string> digest_below(int root, const std::string& path, DigestTimes times, uint64_t& remaining_entries) {
  GenericHash hash;
  const size_t prefix = path.empty() ? 0 : path.size() + 1;
  CHECKED(
      each_below(root, path, remaining_entries, [&](const std::string& at, const tenants::Entry& entry) -> Result<> {
        hash.add(std::string_view(at).substr(prefix));
        hash.add_number(static_cast<uint64_t>(entry.kind));
        hash.add_number(entry.inode);
        hash.add_number(entry.mode);
        if (entry.kind == FileKind::directory) return {};
        hash.add_number(entry.size);
        hash.add_number(static_cast<uint64_t>(entry.mtime_ns));
        if (times == DigestTimes::mtime_and_ctime) hash.add_number(static_cast<uint64_t>(entry.ctime_ns));
        return {};
      }));
  return hash.finished();
}

Result<BaseStamp> stamp_of(int root, const std::string& path, StampDepth depth, StampBudget& budget) {
  TRY(const auto entry, find_entry(root, path));
  BaseStamp stamp;
  if (!entry) return stamp;
  stamp.kind = entry->kind;
  stamp.identity = identity_of(*entry);
  stamp.size = entry->size;
  stamp.mode = entry->mode;
  stamp.mtime_ns = entry->mtime_ns;
  stamp.ctime_ns = entry->ctime_ns;
  if (depth == StampDepth::contents) {
    TRY(stamp.digest, digest_of(root, path, *entry, budget));
  }
  return stamp;
}

Result<std::string> difference_from(const BaseStamp& then, int root, const std::string& path, StampDepth depth,
                                    StampBudget& budget) {
  TRY(const auto now, find_entry(root, path));
  if (!now) return std::string(then.kind ? "it was removed meanwhile" : "");
  if (!then.kind) return std::string("it was created meanwhile");
  const std::string changed = "it was changed meanwhile";
  if (now->kind != *then.kind) return changed;
  const bool is_folder = now->kind == FileKind::directory;
  if (is_same_entry(then, *now) && (!is_folder || depth == StampDepth::entry)) return std::string();
  if (is_folder && (identity_of(*now) != then.identity || now->mode != then.mode)) return changed;
  if (depth == StampDepth::entry || then.digest.empty()) return changed;
  if (!is_folder && (now->size != then.size || now->mode != then.mode)) return changed;
  TRY(const std::string digest, digest_of(root, path, *now, budget));
  return digest == then.digest ? std::string() : changed;
}

}  // namespace proposals
