#include "supervisor/tenants/layers/manifest.h"

#include <fmt/format.h>
#include <algorithm>

#include "supervisor/base/ascii.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/sha256.h"
#include "supervisor/tenants/layers/entry_rules.h"

namespace layers {
namespace {

constexpr int kManifestFormat = 1;
constexpr size_t kMaxManifestBytes = size_t{256} << 20;

std::string_view kind_name(EntryKind kind) {
  return kind == EntryKind::folder ? "folder" : kind == EntryKind::file ? "file" : "link";
}

Result<LayerEntry> parse_entry(const Json& object, size_t number) {
  Fields in(object, fmt::format("entries[{}]", number));
  LayerEntry entry;
  TRY(entry.path, in.string("path", kMaxLayerPathBytes));
  TRY(const std::string kind, in.one_of("kind", {"folder", "file", "link"}));
  entry.kind = kind == "folder" ? EntryKind::folder : kind == "file" ? EntryKind::file : EntryKind::link;
  TRY(const int64_t mode, in.integer("mode", 0, 07777));
  entry.mode = static_cast<uint32_t>(mode);
  if (entry.kind == EntryKind::file) {
    TRY(const int64_t bytes, in.integer("bytes", 0, static_cast<int64_t>(kMaxLayerBytes)));
    entry.bytes = static_cast<uint64_t>(bytes);
    TRY(entry.sha256, in.string("sha256", 64));
    if (!is_layer_hash(entry.sha256)) return fail(Code::invalid, in.path_of("sha256") + ": not 64 hexadecimal digits");
  }
  if (entry.kind == EntryKind::link) {
    TRY(entry.target, in.string("target", kMaxLayerPathBytes));
  }
  CHECKED(in.done());
  CHECKED(check_entry(entry));
  return entry;
}

}  // namespace

std::string manifest_text(const Manifest& manifest) {
  std::string text = fmt::format("{{\"format\":{},\"python\":", kManifestFormat);
  append_json_string(text, manifest.python);
  text += ",\"entries\":[";
  bool first = true;
  for (const LayerEntry& entry : manifest.entries) {
    text += std::exchange(first, false) ? "\n{\"path\":" : ",\n{\"path\":";
    append_json_string(text, entry.path);
    text += fmt::format(",\"kind\":\"{}\",\"mode\":{}", kind_name(entry.kind), entry.mode);
    if (entry.kind == EntryKind::file)
      text += fmt::format(",\"bytes\":{},\"sha256\":\"{}\"", entry.bytes, entry.sha256);
    if (entry.kind == EntryKind::link) {
      text += ",\"target\":";
      append_json_string(text, entry.target);
    }
    text += '}';
  }
  return text + "\n]}\n";
}

Result<Manifest> parse_manifest(std::string_view text) {
  if (text.size() > kMaxManifestBytes) return fail(Code::invalid, "the manifest is too large");
  TRY(const Json document, parse_json(text));
  Fields in(document, "manifest");
  TRY(const int64_t format, in.integer("format", 1, 1'000'000));
  if (format != kManifestFormat)
    return fail(Code::invalid, fmt::format("the manifest has format {}, which this version cannot read", format),
                "build the layer again: warder layer build");
  Manifest manifest;
  TRY(manifest.python, in.string("python", 16));
  const Json* entries = in.find("entries");
  CHECKED(in.done());
  if (!entries || !entries->is_array()) return fail(Code::invalid, "manifest.entries: not a list");
  if (entries->size() > kMaxLayerEntries) return fail(Code::invalid, "manifest.entries: too many");
  manifest.entries.reserve(entries->size());
  for (const Json& item : *entries) {
    TRY(LayerEntry entry, parse_entry(item, manifest.entries.size()));
    if (!manifest.entries.empty() && entry.path <= manifest.entries.back().path)
      return fail(Code::invalid, "manifest.entries: not in the order of their paths");
    manifest.entries.push_back(std::move(entry));
  }
  return manifest;
}

std::string hash_of_manifest(std::string_view text) { return sha256_hex(text); }

bool is_layer_hash(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), is_lower_hex);
}

}  // namespace layers
