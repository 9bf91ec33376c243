// Library: a folder of definitions of one test, and the catalogue made of it.
#pragma once
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"

struct Library {
  TempDirectory temp;
  std::shared_ptr<const catalog::Catalog> produced;

  void put(const std::string& file, std::string_view text) {
    std::filesystem::create_directories((temp.path() / file).parent_path());
    std::ofstream(temp.path() / file, std::ios::binary) << text;
  }
  template <class Document>
  requires std::is_same_v<Document, Json>
  void put(const std::string& file, const Document& document) { put(file, std::string_view(document.dump())); }
  const catalog::Catalog& load() {
    auto loaded = catalog::load_catalog(temp.path().string());
    REQUIRE(loaded);
    produced = *loaded;
    return *produced;
  }
  std::vector<std::string> names(const std::vector<uint32_t>& numbers) const {
    std::vector<std::string> all;
    for (uint32_t number : numbers) all.emplace_back(produced->tool(number).name);
    return all;
  }
  std::vector<std::string> search(const std::string& text, size_t limit = 5) const {
    catalog::Query query;
    query.text = text;
    query.limit = limit;
    return names(produced->search(query).tools);
  }
};

using Names = std::vector<std::string>;
