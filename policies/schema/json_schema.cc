#include "policies/schema/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <variant>
#include <vector>

#include "policies/schema/canonical_json.h"
#include "policies/schema/expressions.h"
#include "policies/schema/json_schema_parts.h"
#include "supervisor/base/json/exact_number.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_beginning.h"
#include "supervisor/base/log.h"

namespace policies {
namespace {

constexpr size_t kMaxListed = 60;             // bytes of a value in a message
constexpr size_t kMaxShownChoices = 200;      // bytes of a list of choices
constexpr size_t kMaxPositionBytes = 120;     // bytes of a place in a message
constexpr uint64_t kBytesPerStep = 64;        // of texts that are compared or counted
constexpr uint64_t kExpressionStep = 10'000;  // steps for the compilation of an expression

std::string displayed(const Json& value, size_t max = kMaxListed) {
  return printable(json_beginning(value, 2 * max), max);
}

bool has_type(const Json& value, const std::string& name) {
  switch (name[0]) {
    case 'a':
      return value.is_array();
    case 'b':
      return value.is_boolean();
    case 'i':
      return is_whole_number(value);
    case 'o':
      return value.is_object();
    case 's':
      return value.is_string();
    default:
      return name == "null" ? value.is_null() : is_number(value);
  }
}

size_t characters(const std::string& text) {
  size_t count = 0;
  for (char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

// Less than, equal to or more than 0, as `value` is to `limit`.
int order(const Json& value, const Json& limit) {
  if (!is_exact_number(value) && !is_exact_number(limit)) return value < limit ? -1 : value > limit ? 1 : 0;
  const auto compared = compare_numbers(value, limit);
  return compared < 0 ? -1 : compared > 0 ? 1 : 0;
}

// The members and elements that a subschema has evaluated, for unevaluated*.
struct CheckedLocation {
  std::set<std::string_view> names;
  std::set<size_t> items;
  void add(const CheckedLocation& other) {
    names.insert(other.names.begin(), other.names.end());
    items.insert(other.items.begin(), other.items.end());
  }
  size_t size() const { return names.size() + items.size(); }
};

}  // namespace

// SchemaCheck: one check of one value. Schemas are applied at their place in the document.
class SchemaCheck {
 public:
  SchemaCheck(const JsonSchema& schema, WorkMeter& meter) : parts_(*schema.parts_), meter_(meter) {}

  Result<> run(const Json& document, const Json& value) {
    CheckedLocation seen;
    const bool good = fits(document, value, seen);
    if (exhausted_ && problem_.empty())
      return meter_.is_over() ? Result<>(tl::unexpected<Error>(meter_.error()))
                              : fail(Code::exhausted, "the schema is nested too deep, or has too many expressions",
                                     "use a simpler schema");
    if (exhausted_) return fail(Code::exhausted, problem_, "send a smaller value, or use a simpler schema");
    return good ? Result<>{} : fail(Code::invalid, problem_);
  }

 private:
  using Node = JsonSchema::Parts::Node;
  // A key of an object, or the index of an item.
  using Step = std::variant<std::string_view, size_t>;

  bool spend(uint64_t steps) {
    if (!meter_.spend(steps)) exhausted_ = true;
    return !exhausted_;
  }

  bool give_up(std::string why) {
    if (!exhausted_) problem_ = std::move(why);
    exhausted_ = true;
    return false;
  }

  // Notes the first problem, in the words that `words` returns. Problems inside of alternatives are not noted.
  template <class Words>
  bool wrong(Words words) {
    if (quiet_ > 0 || !problem_.empty()) return false;
    std::string where;
    for (const Step& step : path_) {
      if (where.size() > kMaxPositionBytes) break;
      const size_t* index = std::get_if<size_t>(&step);
      where += '/';
      where +=
          index ? std::to_string(*index) : std::string(std::get<std::string_view>(step).substr(0, kMaxPositionBytes));
    }
    problem_ = fmt::format("{}{}{}", printable(where, kMaxPositionBytes), where.empty() ? "" : ": ", words());
    return false;
  }

  // Like are_equal(); the comparison is spent.
  bool equals(const Json& a, const Json& b) {
    if (!spend(1)) return false;
    if (a.is_array() && b.is_array())
      return a.size() == b.size() &&
             std::equal(a.begin(), a.end(), b.begin(), [this](auto& one, auto& other) { return equals(one, other); });
    if (a.is_object() && b.is_object()) {
      if (a.size() != b.size()) return false;
      for (auto member = a.begin(); member != a.end(); ++member) {
        const auto other = b.find(member.key());
        if (other == b.end() || !equals(*member, *other)) return false;
      }
      return true;
    }
    if (a.is_string() && b.is_string() && !spend(a.get_ref<const std::string&>().size() / kBytesPerStep)) return false;
    return are_equal(a, b);
  }

  bool fits_inside(const Json& schema, const Json& value, Step step) {
    path_.push_back(step);
    CheckedLocation seen;
    const bool good = fits(schema, value, seen);
    path_.pop_back();
    return good;
  }

  bool fits_quietly(const Json& schema, const Json& value, CheckedLocation& seen) {
    quiet_++;
    const bool good = fits(schema, value, seen);
    quiet_--;
    return good;
  }

  bool fits(const Json& schema, const Json& value, CheckedLocation& seen) {
    constexpr uint64_t kStepsPerSchema = 30;
    if (!spend(kStepsPerSchema)) return false;
    if (schema.is_boolean()) return schema.get<bool>() ? true : wrong([] { return "is not allowed here"; });
    if (depth_ >= JsonSchema::kMaxDepth) {
      exhausted_ = true;
      return false;
    }
    depth_++;
    const auto it = parts_.resource_of.find(&schema);
    const Node resource = it == parts_.resource_of.end() ? nullptr : it->second;
    const bool entered = scope_.empty() || scope_.back() != resource;
    if (entered) scope_.push_back(resource);
    // `seen` is only needed where the document has unevaluated*.
    CheckedLocation here;
    const bool good = fits_all(schema, value, here);
    if (good && parts_.has_unevaluated && spend(8 * here.size())) seen.add(here);
    if (entered) scope_.pop_back();
    depth_--;
    return good;
  }

  bool fits_all(const Json& schema, const Json& value, CheckedLocation& seen) {
    if (!fits_references(schema, value, seen) || !fits_any_type(schema, value)) return false;
    if (is_number(value) && !fits_number(schema, value)) return false;
    if (value.is_string() && !fits_string(schema, value)) return false;
    if (value.is_array() && !fits_list(schema, value, seen)) return false;
    if (value.is_object() && !fits_object(schema, value, seen)) return false;
    if (!fits_combined(schema, value, seen)) return false;
    return fits_unevaluated(schema, value, seen);
  }

  bool fits_references(const Json& schema, const Json& value, CheckedLocation& seen) {
    if (auto target = parts_.targets.find(&schema); target != parts_.targets.end() && target->second)
      if (!fits(*target->second, value, seen)) return false;
    auto target = parts_.dynamic_targets.find(&schema);
    if (target == parts_.dynamic_targets.end() || !target->second) return true;
    Node node = target->second;
    if (auto name = parts_.dynamic_names.find(&schema); name != parts_.dynamic_names.end()) {
      for (Node resource : scope_) {  // the outermost resource that has the anchor
        if (!spend(10)) return false;
        auto it = parts_.resources.find(resource);
        if (it == parts_.resources.end()) continue;
        auto anchor = it->second.dynamic_anchors.find(name->second);
        if (anchor == it->second.dynamic_anchors.end()) continue;
        node = anchor->second;
        break;
      }
    }
    return fits(*node, value, seen);
  }

  bool fits_any_type(const Json& schema, const Json& value) {
    if (auto type = schema.find("type"); type != schema.end()) {
      bool good = false;
      if (type->is_string()) good = has_type(value, type->get_ref<const std::string&>());
      if (type->is_array())
        for (const Json& item : *type) {
          if (!spend(1)) return false;
          good |= has_type(value, item.get_ref<const std::string&>());
        }
      if (!good)
        return wrong([&] {
          return fmt::format("{} is not of type {}", displayed(value),
                             type->is_string() ? type->get<std::string>() : displayed(*type, kMaxShownChoices));
        });
    }
    if (auto choices = schema.find("enum"); choices != schema.end()) {
      const bool good =
          std::any_of(choices->begin(), choices->end(), [&](const Json& choice) { return equals(choice, value); });
      if (exhausted_) return false;
      if (!good)
        return wrong([&] {
          return fmt::format("{} is not one of {}", displayed(value), displayed(*choices, kMaxShownChoices));
        });
    }
    if (auto constant = schema.find("const"); constant != schema.end() && !equals(*constant, value))
      return wrong([&] { return fmt::format("{} is not {}", displayed(value), displayed(*constant)); });
    return true;
  }

  bool fits_number(const Json& schema, const Json& value) {
    auto bound = [&](const char* key, auto good, const char* kind) {
      auto limit = schema.find(key);
      if (limit == schema.end() || !is_number(*limit) || good(value, *limit)) return true;
      return wrong([&] { return fmt::format("{} is {} {}", displayed(value), kind, dump_json(*limit)); });
    };
    return bound(
               "minimum", [](auto& v, auto& l) { return order(v, l) >= 0; }, "below the minimum of") &&
           bound(
               "maximum", [](auto& v, auto& l) { return order(v, l) <= 0; }, "above the maximum of") &&
           bound(
               "exclusiveMinimum", [](auto& v, auto& l) { return order(v, l) > 0; }, "not above") &&
           bound(
               "exclusiveMaximum", [](auto& v, auto& l) { return order(v, l) < 0; }, "not below") &&
           bound("multipleOf", is_multiple_of, "not a multiple of");
  }

  // minX and maxX, for the length of a string or the size of a list or an object.
  bool fits_count(const Json& schema, const char* least, const char* max, size_t count, std::string_view subject) {
    const auto number = static_cast<double>(count);
    if (auto limit = schema.find(least); limit != schema.end() && number < nearest_double(*limit))
      return wrong([&] { return fmt::format("{} {} are fewer than {}", count, subject, dump_json(*limit)); });
    if (auto limit = schema.find(max); limit != schema.end() && number > nearest_double(*limit))
      return wrong([&] { return fmt::format("{} {} are more than {}", count, subject, dump_json(*limit)); });
    return true;
  }

  bool fits_string(const Json& schema, const Json& value) {
    const auto& text = value.get_ref<const std::string&>();
    if (schema.contains("minLength") || schema.contains("maxLength")) {
      if (!spend(text.size() / kBytesPerStep)) return false;
      if (!fits_count(schema, "minLength", "maxLength", characters(text), "characters")) return false;
    }
    const auto pattern = schema.find("pattern");
    if (pattern == schema.end()) return true;
    const re2::RE2* expression = expression_of(pattern->get_ref<const std::string&>());
    if (exhausted_ || !expression) return !exhausted_;
    if (matches(*expression, text)) return true;
    return exhausted_
               ? false
               : wrong([&] { return fmt::format("{} does not match {}", displayed(value), displayed(*pattern)); });
  }

  // nullptr: RE2 does not support it, or exhausted_.
  const re2::RE2* expression_of(const std::string& pattern) {
    if (!spend(5 + pattern.size() / kBytesPerStep)) return nullptr;
    auto it = expressions_.find(pattern);
    if (it == expressions_.end()) {
      if (expressions_.size() == JsonSchema::kMaxExpressions) give_up("the schema has too many expressions");
      if (!spend(kExpressionStep)) return nullptr;
      auto compiled = SchemaExpressions::compiled(pattern);
      it = expressions_.emplace(pattern, compiled ? *std::move(compiled) : nullptr).first;
    }
    return it->second.get();
  }

  bool matches(const re2::RE2& expression, std::string_view text) {
    auto fits = SchemaExpressions::fits(expression, text, meter_);
    if (!fits) give_up(fits.error().what);
    return fits.value_or(false);
  }

  bool fits_list(const Json& schema, const Json& list, CheckedLocation& seen) {
    if (!fits_count(schema, "minItems", "maxItems", list.size(), "items")) return false;
    auto unique = schema.find("uniqueItems");
    if (unique != schema.end() && unique->get<bool>() && !is_unique(list)) return false;
    size_t at = 0;
    auto item = [&](const Json& entry) {
      if (!fits_inside(entry, list[at], at)) return false;
      if (parts_.has_unevaluated) seen.items.insert(at);
      at++;
      return true;
    };
    auto items = schema.find("items");
    auto prefix = schema.find("prefixItems");
    const bool listed = items != schema.end() && items->is_array();  // the form before 2020-12
    if (listed) prefix = items;
    if (prefix != schema.end())
      for (const Json& entry : *prefix)
        if (at < list.size() && !item(entry)) return false;
    if (listed) items = schema.find("additionalItems");
    if (items != schema.end())
      while (at < list.size())
        if (!item(*items)) return false;
    return fits_contains(schema, list, seen);
  }

  bool is_unique(const Json& list) {
    std::set<std::string> texts;
    for (const Json& item : list) {
      std::string text;
      append_canonical(text, item);
      if (!spend(20 + text.size() / 4)) return false;
      if (!texts.insert(std::move(text)).second)
        return wrong([&] { return fmt::format("{} is listed twice", displayed(item)); });
    }
    return true;
  }

  bool fits_contains(const Json& schema, const Json& list, CheckedLocation& seen) {
    auto contains = schema.find("contains");
    if (contains == schema.end()) return true;
    size_t count = 0;
    for (size_t i = 0; i < list.size(); i++) {
      CheckedLocation inside;
      if (!fits_quietly(*contains, list[i], inside)) continue;
      count++;
      if (parts_.has_unevaluated) seen.items.insert(i);
    }
    if (exhausted_) return false;
    if (!schema.contains("minContains") && count == 0) return wrong([] { return "no item matches `contains`"; });
    return fits_count(schema, "minContains", "maxContains", count, "items that match `contains`");
  }

  bool fits_object(const Json& schema, const Json& object, CheckedLocation& seen) {
    if (!fits_count(schema, "minProperties", "maxProperties", object.size(), "members")) return false;
    if (auto required = schema.find("required"); required != schema.end())
      for (const Json& name : *required) {
        const auto& text = name.get_ref<const std::string&>();
        if (!spend_lookup(text)) return false;
        if (!object.contains(text)) return wrong([&] { return fmt::format("'{}' is missing", printable(text, 64)); });
      }
    return fits_members(schema, object, seen) && fits_dependent(schema, object, seen);
  }

  bool fits_members(const Json& schema, const Json& object, CheckedLocation& seen) {
    const auto properties = schema.find("properties"), patterns = schema.find("patternProperties");
    const auto it = schema.find("additionalProperties"), names = schema.find("propertyNames");
    if (properties == schema.end() && patterns == schema.end() && it == schema.end() && names == schema.end())
      return true;
    for (auto entry = object.begin(); entry != object.end(); ++entry) {
      const std::string& name = entry.key();
      const Json& member = *entry;
      if (!spend_lookup(name)) return false;
      bool count = false;
      if (names != schema.end() && !fits_inside(*names, Json(name), name)) return false;
      if (properties != schema.end()) {
        auto property = properties->find(name);
        if (property != properties->end()) {
          count = true;
          if (!fits_inside(*property, member, name)) return false;
        }
      }
      if (patterns != schema.end()) {
        for (auto pattern = patterns->begin(); pattern != patterns->end(); ++pattern) {
          const re2::RE2* expression = expression_of(pattern.key());
          if (exhausted_) return false;
          if (!expression || !matches(*expression, name)) continue;
          count = true;
          if (!fits_inside(*pattern, member, name)) return false;
        }
      }
      if (exhausted_) return false;
      if (!count && it != schema.end()) {
        if (it->is_boolean() && !it->get<bool>())
          return wrong([&] { return fmt::format("'{}' is not known here", printable(name, 64)); });
        count = true;
        if (!fits_inside(*it, member, name)) return false;
      }
      if (count && parts_.has_unevaluated) seen.names.insert(name);
    }
    return true;
  }

  bool fits_dependent(const Json& schema, const Json& object, CheckedLocation& seen) {
    for (const char* key : {"dependentRequired", "dependentSchemas", "dependencies"}) {
      auto rules = schema.find(key);
      if (rules == schema.end()) continue;
      for (const auto& [name, rule] : rules->items()) {
        if (!spend_lookup(name)) return false;
        if (!object.contains(name)) continue;
        if (!rule.is_array()) {
          if (!fits(rule, object, seen)) return false;
          continue;
        }
        for (const Json& needed : rule) {
          const auto& text = needed.get_ref<const std::string&>();
          if (!spend_lookup(text)) return false;
          if (!object.contains(text))
            return wrong([&, &of = name] {
              return fmt::format("'{}' is missing, which '{}' needs", printable(text, 64), printable(of, 64));
            });
        }
      }
    }
    return true;
  }

  bool spend_lookup(std::string_view name) { return spend(10 + name.size() / kBytesPerStep); }

  bool fits_combined(const Json& schema, const Json& value, CheckedLocation& seen) {
    if (auto all = schema.find("allOf"); all != schema.end())
      for (const Json& item : *all)
        if (!fits(item, value, seen)) return false;
    for (const char* key : {"anyOf", "oneOf"}) {
      auto list = schema.find(key);
      if (list == schema.end()) continue;
      size_t count = 0;
      for (const Json& item : *list) {
        CheckedLocation inside;
        if (!fits_quietly(item, value, inside)) continue;
        count++;
        if (parts_.has_unevaluated && spend(8 * inside.size())) seen.add(inside);
      }
      if (exhausted_) return false;
      if (count == 0)
        return wrong([&] {
          return fmt::format("{} does not match any of the {} alternatives", displayed(value), list->size());
        });
      if (count > 1 && *key == 'o')
        return wrong(
            [&] { return fmt::format("{} matches {} alternatives, not exactly one", displayed(value), count); });
    }
    if (auto no = schema.find("not"); no != schema.end()) {
      CheckedLocation inside;
      if (fits_quietly(*no, value, inside))
        return wrong([&] { return fmt::format("{} matches the schema in `not`", displayed(value)); });
      if (exhausted_) return false;
    }
    auto condition = schema.find("if");
    if (condition == schema.end()) return true;
    CheckedLocation inside;
    const bool holds = fits_quietly(*condition, value, inside);
    if (exhausted_) return false;
    if (holds) seen.add(inside);
    auto then = schema.find(holds ? "then" : "else");
    return then == schema.end() || fits(*then, value, seen);
  }

  bool fits_unevaluated(const Json& schema, const Json& value, CheckedLocation& seen) {
    if (!parts_.has_unevaluated) return true;
    if (auto rest = schema.find("unevaluatedItems"); rest != schema.end() && value.is_array())
      for (size_t i = 0; i < value.size(); i++)
        if (!seen.items.contains(i)) {
          if (!fits_inside(*rest, value[i], i)) return false;
          seen.items.insert(i);
        }
    if (auto rest = schema.find("unevaluatedProperties"); rest != schema.end() && value.is_object())
      for (auto member = value.begin(); member != value.end(); ++member)
        if (spend_lookup(member.key()) && !seen.names.contains(member.key())) {
          if (!fits_inside(*rest, *member, member.key())) return false;
          seen.names.insert(member.key());
        }
    return true;
  }

  const JsonSchema::Parts& parts_;
  WorkMeter& meter_;
  std::unordered_map<std::string_view, SchemaExpressions::Compiled> expressions_;  // nullptr: not supported
  std::vector<Step> path_;
  std::vector<Node> scope_;
  std::string problem_;
  int depth_ = 0, quiet_ = 0;
  bool exhausted_ = false;
};

Result<> JsonSchema::check(const Json& value, WorkMeter& meter) const {
  return SchemaCheck(*this, meter).run(*document_, value);
}

}  // namespace policies
