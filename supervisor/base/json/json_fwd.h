// Json: the only JSON value type of the project; its objects keep the order of their keys (insertion_ordered_map.h).
// Code that reads or writes a Json's contents includes supervisor/base/json/json_value.h.
#pragma once
#include <nlohmann/json_fwd.hpp>

template <class Key, class T, class Compare, class Allocator>
class InsertionOrderedMap;

using Json = nlohmann::basic_json<InsertionOrderedMap>;
