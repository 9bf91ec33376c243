// InsertionOrderedMap: a map that is walked in the order in which its keys were first inserted.
// JSON objects use this map (json_fwd.h): agents read meaning into the order of keys ("most common first"), and other
// JSON libraries preserve the order. A map of more than kUnindexed keys has a tree as an index, so that an object with
// 200,000 keys from a hostile client costs n log n to read. nlohmann::ordered_map compares each new key with all
// earlier keys, which is quadratic. A hash table could be fed with keys that collide.
// Two maps are equal when they hold the same pairs in any order: RFC 8259, section 4, gives order no meaning.
// References and iterators stay valid until their pair is erased.
// Its members are those that nlohmann::basic_json requires of an ObjectType (version 3.11).
#pragma once
#include <algorithm>
#include <compare>
#include <functional>
#include <initializer_list>
#include <list>
#include <memory>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

template <class Key, class T, class Compare = std::less<>, class Allocator = std::allocator<std::pair<const Key, T>>>
class InsertionOrderedMap {
  using Pairs = std::list<std::pair<const Key, T>, Allocator>;

 public:
  using key_type = Key;
  using mapped_type = T;
  using value_type = typename Pairs::value_type;
  using key_compare = Compare;
  using allocator_type = Allocator;
  using size_type = typename Pairs::size_type;
  using difference_type = typename Pairs::difference_type;
  using iterator = typename Pairs::iterator;
  using const_iterator = typename Pairs::const_iterator;

  InsertionOrderedMap() = default;
  InsertionOrderedMap(InsertionOrderedMap&&) noexcept = default;
  InsertionOrderedMap& operator=(InsertionOrderedMap&&) noexcept = default;
  InsertionOrderedMap(const InsertionOrderedMap& other) : InsertionOrderedMap(other.begin(), other.end()) {}
  InsertionOrderedMap& operator=(const InsertionOrderedMap& other) {
    if (this != &other) *this = InsertionOrderedMap(other);
    return *this;
  }
  InsertionOrderedMap(std::initializer_list<value_type> pairs) : InsertionOrderedMap(pairs.begin(), pairs.end()) {}
  template <class Input>
  InsertionOrderedMap(Input first, Input last) {
    insert(first, last);
  }
  ~InsertionOrderedMap() = default;

  iterator begin() { return pairs_.begin(); }
  iterator end() { return pairs_.end(); }
  const_iterator begin() const { return pairs_.begin(); }
  const_iterator end() const { return pairs_.end(); }
  const_iterator cbegin() const { return pairs_.begin(); }
  const_iterator cend() const { return pairs_.end(); }
  bool empty() const { return pairs_.empty(); }
  size_type size() const { return pairs_.size(); }
  size_type max_size() const { return pairs_.max_size(); }

  // For a key that the map already has, position and value stay as they are.
  template <class K, class... Args>
  std::pair<iterator, bool> emplace(K&& key, Args&&... args) {
    if (const iterator at = find(key); at != end()) return {at, false};
    pairs_.emplace_back(std::piecewise_construct, std::forward_as_tuple(std::forward<K>(key)),
                        std::forward_as_tuple(std::forward<Args>(args)...));
    const iterator added = std::prev(pairs_.end());
    if (!index_.empty()) {
      index_.insert(added);
    } else if (pairs_.size() > kUnindexed) {
      for (iterator at = pairs_.begin(); at != pairs_.end(); ++at) index_.insert(at);
    }
    return {added, true};
  }
  std::pair<iterator, bool> insert(const value_type& pair) { return emplace(pair.first, pair.second); }
  std::pair<iterator, bool> insert(value_type&& pair) { return emplace(pair.first, std::move(pair.second)); }
  template <class Input>
  void insert(Input first, Input last) {
    for (; first != last; ++first) emplace(first->first, first->second);
  }
  template <class K>
  T& operator[](K&& key) {
    return emplace(std::forward<K>(key)).first->second;
  }

  template <class K>
  iterator find(const K& key) {
    if (index_.empty()) return std::find_if(begin(), end(), [&key](const auto& pair) { return pair.first == key; });
    const auto it = index_.find(Sought<K>{key});
    return it == index_.end() ? end() : *it;
  }
  template <class K>
  const_iterator find(const K& key) const {
    return const_cast<InsertionOrderedMap*>(this)->find(key);  // the search changes no pair
  }
  template <class K>
  size_type count(const K& key) const {
    return find(key) == end() ? 0 : 1;
  }

  iterator erase(iterator at) {
    index_.erase(at);
    return pairs_.erase(at);
  }
  iterator erase(iterator first, iterator last) {
    while (first != last) first = erase(first);
    return last;
  }
  template <class K>
  requires(!std::is_convertible_v<K, const_iterator>) size_type erase(const K& key) {
    const iterator at = find(key);
    if (at == end()) return 0;
    erase(at);
    return 1;
  }
  void clear() {
    index_.clear();
    pairs_.clear();
  }

  friend bool operator==(const InsertionOrderedMap& a, const InsertionOrderedMap& b) {
    return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&b](const auto& pair) {
             const auto other = b.find(pair.first);
             return other != b.end() && other->second == pair.second;
           });
  }
  // Compares like std::map: by pairs in the order of their keys.
  friend std::partial_ordering operator<=>(const InsertionOrderedMap& a, const InsertionOrderedMap& b) {
    const auto left = a.sorted(), right = b.sorted();
    return std::lexicographical_compare_three_way(
        left.begin(), left.end(), right.begin(), right.end(),
        [](const value_type* x, const value_type* y) -> std::partial_ordering { return *x <=> *y; });
  }

 private:
  static constexpr size_type kUnindexed = 12;  // up to this many keys are compared one by one

  template <class K>
  struct Sought {
    const K& key;
  };
  struct ByKey {
    using is_transparent = void;
    bool operator()(iterator a, iterator b) const { return Compare{}(a->first, b->first); }
    template <class K>
    bool operator()(iterator a, const Sought<K>& b) const {
      return Compare{}(a->first, b.key);
    }
    template <class K>
    bool operator()(const Sought<K>& a, iterator b) const {
      return Compare{}(a.key, b->first);
    }
  };

  std::vector<const value_type*> sorted() const {
    std::vector<const value_type*> pairs;
    for (const auto& pair : pairs_) pairs.push_back(&pair);
    std::sort(pairs.begin(), pairs.end(), [](auto* x, auto* y) { return Compare{}(x->first, y->first); });
    return pairs;
  }

  Pairs pairs_;
  std::set<iterator, ByKey> index_;  // empty, or all pairs of pairs_
};
