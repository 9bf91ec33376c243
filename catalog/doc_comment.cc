#include "catalog/doc_comment.h"

namespace catalog {

std::string doc_comment(std::string_view text, size_t indent) {
  std::string inside;
  for (char c : text) {
    if (c == '/' && inside.ends_with('*')) inside += ' ';
    inside += c;
    if (c == '\n') inside += std::string(indent, ' ') + " * ";
  }
  return inside;
}

}  // namespace catalog
