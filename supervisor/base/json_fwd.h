// Json: the one JSON value of the project; its objects keep the order of their keys (insertion_ordered_map.h).
// Whoever looks into one includes supervisor/base/json.h.
#pragma once
#include <nlohmann/json_fwd.hpp>

template <class Key, class T, class Compare, class Allocator>
class InsertionOrderedMap;

using Json = nlohmann::basic_json<InsertionOrderedMap>;
