// LargestFiles: the largest few files of a set that changes, without an order of all. Once too many of them have been
// taken out, it must be filled again from the whole set.
// Owned by: FileTable. No errors.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <tuple>

namespace tenants {

class LargestFiles {
 public:
  using FileSize = std::tuple<uint64_t, uint32_t, std::string>;  // size in bytes, folder, name

  void add(uint64_t size, uint32_t folder, const std::string& name) {
    if (size < floor_) return;
    files_.emplace(size, folder, name);
    if (files_.size() <= kSaved) return;
    const uint64_t out = std::get<0>(*files_.begin());
    floor_ = out > floor_ ? out : floor_;
    files_.erase(files_.begin());
  }
  void remove(uint64_t size, uint32_t folder, const std::string& name) { files_.erase({size, folder, name}); }
  // Whether the `max` largest of the set are known. If not: clear(), and add() for each of the set.
  bool knows(size_t max) const { return floor_ == 0 || files_.size() >= max; }
  void clear() {
    files_.clear();
    floor_ = 0;
  }
  const std::set<FileSize>& saved() const { return files_; }  // smallest first

 private:
  static constexpr size_t kSaved = 64;
  std::set<FileSize> files_;
  uint64_t floor_ = 0;  // files outside of the set are not larger; 0: all files of a size are in it
};

}  // namespace tenants
