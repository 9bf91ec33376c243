#include "supervisor/tenants/layers/layer_lookup.h"

#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <set>

#include "policies/policy.h"
#include "supervisor/base/log.h"
#include "supervisor/tenants/layers/entry_rules.h"
#include "supervisor/tenants/layers/layer_store.h"

namespace layers {
namespace {

// The forms in which a layer has a Python module: "six.py", "numpy/ with __init__", "google/ without __init__".
std::map<std::string, std::set<std::string>> module_forms_of(const Manifest& manifest) {
  std::map<std::string, std::set<std::string>> forms;
  std::set<std::string, std::less<>> regular;
  for (const LayerEntry& entry : manifest.entries) {
    const std::string_view path = entry.path, module = python_module_of(path);
    if (module.empty()) continue;
    const std::string_view rest = path.substr(static_cast<size_t>(module.data() - path.data()));
    const size_t slash = rest.find('/');
    if (slash == rest.npos) {
      forms[std::string(module)].emplace(rest);
    } else {
      forms[std::string(module)].insert("/");
      if (rest.substr(slash + 1).starts_with("__init__.")) regular.emplace(module);
    }
  }
  for (const std::string& module : regular) forms[module].insert("/__init__");
  return forms;
}

class LayerLookup {
 public:
  explicit LayerLookup(const std::string& folder) : store_(LayerStore::open(folder)) {}

  policies::PackageLayers all() {
    policies::PackageLayers layers;
    auto named = store_ ? store_->list() : Result<std::vector<NamedLayer>>();
    if (!named) return layers;
    for (NamedLayer& layer : *named) layers.push_back(shared_layer(std::move(layer), nullptr));
    return layers;
  }

  Result<std::shared_ptr<const policies::PackageLayer>> find(const std::string& name) {
    if (const auto it = layers_.find(name); it != layers_.end()) return it->second;
    if (!store_) return tl::unexpected<Error>(store_.error());
    TRY(NamedLayer layer, store_->find(name));
    auto layer_fd = store_->hold(layer.hash);
    if (!layer_fd) {  // another build has replaced the version meanwhile
      TRY(layer, store_->find(name));
      TRY(layer_fd, store_->hold(layer.hash));
    }
    CHECKED(store_->check(layer.hash, CheckDepth::quick));
    const std::string python = python_of_usr();
    if (!layer.python.empty() && !python.empty() && layer.python != python)
      return fail(Code::invalid,
                  fmt::format("it was built for Python {}, and this machine has {}", layer.python, python),
                  "build it again: warder layer build");
    auto shared = shared_layer(std::move(layer), std::make_shared<const Fd>(*std::move(layer_fd)));
    layers_.emplace(name, shared);
    return shared;
  }

  // A path that two of the layers have with different contents, or a Python module that they have in different forms
  // (numpy.py beside numpy/), as a sentence; empty: absent.
  std::string conflict_of(const policies::PackageLayers& layers) {
    std::map<std::string, std::pair<const LayerEntry*, const policies::PackageLayer*>> seen;
    std::map<std::string, std::pair<std::set<std::string>, const policies::PackageLayer*>> modules;
    for (const auto& layer : layers) {
      const Manifest* manifest = manifest_of(layer->hash);
      if (!manifest) return fmt::format("the manifest of layer '{}' cannot be read", layer->name);
      for (auto& [module, forms] : module_forms_of(*manifest)) {
        const auto [other, is_new] = modules.try_emplace(module, forms, layer.get());
        if (!is_new && other->second.first != forms)
          return fmt::format("the layers '{}' and '{}' both have the Python module '{}', in different forms",
                             other->second.second->name, layer->name, printable(module, 200));
      }
      for (const LayerEntry& entry : manifest->entries) {
        const auto [other, is_new] = seen.try_emplace(entry.path, &entry, layer.get());
        if (is_new) continue;
        const LayerEntry& first = *other->second.first;
        if (first.kind != entry.kind || first.sha256 != entry.sha256 || first.target != entry.target)
          return fmt::format("the layers '{}' and '{}' both have '{}', with different contents",
                             other->second.second->name, layer->name, printable(entry.path, 200));
      }
    }
    return {};
  }

 private:
  static std::shared_ptr<const policies::PackageLayer> shared_layer(NamedLayer layer,
                                                                    std::shared_ptr<const Fd> layer_fd) {
    return std::make_shared<const policies::PackageLayer>(
        policies::PackageLayer{std::move(layer.name), std::move(layer.hash), std::move(layer.offers.python),
                               std::move(layer.offers.node), std::move(layer_fd)});
  }

  const Manifest* manifest_of(const std::string& hash) {
    const auto [at, is_new] = manifests_.try_emplace(hash);
    if (is_new) {
      if (auto read = store_->manifest_of(hash)) at->second = *std::move(read);
    }
    return at->second ? &*at->second : nullptr;
  }

  Result<LayerStore> store_;
  std::map<std::string, std::shared_ptr<const policies::PackageLayer>> layers_;
  std::map<std::string, std::optional<Manifest>> manifests_;
};

}  // namespace

// /usr/bin/python3 is a link to python3.11 or the like.
std::string python_of_usr() {
  char target[256];
  const ssize_t got = ::readlink("/usr/bin/python3", target, sizeof target);
  const std::string_view text(target, got > 0 ? static_cast<size_t>(got) : 0);
  const size_t name = text.rfind("python3.");
  return name == text.npos ? std::string() : std::string(text.substr(name + 6));
}

std::vector<std::string> give_layers(policies::Store& store, const std::string& folder) {
  LayerLookup lookup(folder);
  auto problems = store.set_layers([&lookup](const std::string& name) { return lookup.find(name); }, lookup.all());
  for (const std::string& name : store.names()) {
    const auto policy = store.find(name);
    if (policy->layers.size() < 2) continue;
    const std::string conflict = lookup.conflict_of(policy->layers);
    if (!conflict.empty()) problems.push_back(fmt::format("{}: layers: {}", policy->file, conflict));
  }
  return problems;
}

}  // namespace layers
