#include "supervisor/programs/docgen/interface.h"

#include <optional>
#include <sstream>

namespace docgen {
namespace {

// One piece of XML in angle brackets: a comment's text, or a tag with its attributes.
struct Piece {
  bool comment = false;
  std::string_view text;
};

std::optional<Piece> next_piece(std::string_view& rest) {
  const size_t from = rest.find('<');
  if (from == rest.npos) return std::nullopt;
  rest.remove_prefix(from);
  const bool comment = rest.starts_with("<!--");
  const size_t to = rest.find(comment ? "-->" : ">");
  if (to == rest.npos) return std::nullopt;
  const Piece piece{comment, comment ? rest.substr(4, to - 4) : rest.substr(1, to - 1)};
  rest.remove_prefix(to + (comment ? 3 : 1));
  return piece;
}

std::string attribute(std::string_view tag, const std::string& name) {
  const size_t at = tag.find(" " + name + "=\"");
  if (at == tag.npos) return {};
  const size_t from = at + name.size() + 3;
  return std::string(tag.substr(from, tag.find('"', from) - from));
}

// Joins all lines into one, with one space between words.
std::string flowing(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::string out, word;
  while (words >> word) out += (out.empty() ? "" : " ") + word;
  return out;
}

struct Arguments {
  std::string in, out;
  void add(std::string_view tag) {
    std::string& list = attribute(tag, "direction") == "out" ? out : in;
    list += (list.empty() ? "" : ", ") + attribute(tag, "type") + " " + attribute(tag, "name");
  }
  std::string signature() const { return "(" + in + ")" + (out.empty() ? "" : " -> (" + out + ")"); }
};

std::optional<InterfaceMember::Kind> kind_of(std::string_view tag) {
  if (tag.starts_with("property ")) return InterfaceMember::Kind::property;
  if (tag.starts_with("method ")) return InterfaceMember::Kind::method;
  if (tag.starts_with("signal ")) return InterfaceMember::Kind::signal;
  return std::nullopt;
}

}  // namespace

Result<Interface> read_interface(std::string_view xml) {
  Interface read;
  std::string comment;
  Arguments arguments;
  while (const auto piece = next_piece(xml)) {
    if (piece->comment) {
      comment = flowing(piece->text);
    } else if (piece->text.starts_with("interface ")) {
      read.name = attribute(piece->text, "name");
      read.text = std::exchange(comment, {});
    } else if (const auto kind = kind_of(piece->text)) {
      InterfaceMember member{*kind, attribute(piece->text, "name"), std::exchange(comment, {}), {}};
      if (member.text.empty()) return fail(Code::invalid, read.name + "." + member.name + " is not described");
      if (*kind == InterfaceMember::Kind::property) member.signature = attribute(piece->text, "type");
      read.members.push_back(std::move(member));
      arguments = {};
    } else if (piece->text.starts_with("arg ")) {
      arguments.add(piece->text);
    }
    const bool ends = piece->text == "/method" || piece->text == "/signal";
    if (ends && !read.members.empty()) read.members.back().signature = arguments.signature();
  }
  if (read.name.empty()) return fail(Code::invalid, "no interface is described there");
  return read;
}

}  // namespace docgen
