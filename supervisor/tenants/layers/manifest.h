// Manifest: the list of all that a package layer holds. Its hash is the identity of the layer: the same packages, built
// twice, have the same hash, because owners, times and the order of unpacking are not in it.
// Source: tree_scan.h, from a tree on disk; the file manifest.json of a layer. Used by: layer_store.cc.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"

namespace layers {

enum class EntryKind { folder, file, link };

// LayerEntry: one file, folder or symbolic link of a layer.
struct LayerEntry {
  std::string path;  // relative to /usr: "lib/python3/dist-packages/six.py"
  EntryKind kind = EntryKind::file;
  uint32_t mode = 0;   // 0644 or 0755 for files, 0755 for folders, 0777 for links
  uint64_t bytes = 0;  // of a file
  std::string sha256;  // of a file's contents, 64 hexadecimal digits
  std::string target;  // of a link, as it is stored
};

struct Manifest {
  std::string python;               // "3.11": the Python that compiled its modules; empty: no modules
  std::vector<LayerEntry> entries;  // by path, in the order of bytes; each path once
};

// Bounds of one layer. A hostile package may unpack to more.
inline constexpr uint64_t kMaxLayerBytes = uint64_t{4} << 30;
inline constexpr size_t kMaxLayerEntries = 200'000;
inline constexpr size_t kMaxLayerDepth = 32;        // folders within folders
inline constexpr size_t kMaxLayerPathBytes = 1024;  // of a path, and of a link's target

// JSON, one entry a line. The same manifest has the same text.
std::string manifest_text(const Manifest& manifest);
// Errors: invalid: not the text of a manifest, or an entry that check_entry() (entry_rules.h) refuses.
Result<Manifest> parse_manifest(std::string_view text);
// SHA-256 of the text, as 64 hexadecimal digits.
std::string hash_of_manifest(std::string_view text);
// Whether `text` has the form of a layer's hash.
bool is_layer_hash(std::string_view text);

}  // namespace layers
