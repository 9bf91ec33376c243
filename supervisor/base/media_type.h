// Media types of files, by their bytes and the endings of their names. Used by: tools, answers of executions. No
// errors.
#pragma once
#include <string_view>

// The type of a folder in a list of resources, as shared-mime-info names it.
constexpr char kFolderType[] = "inode/directory";

// "image/png", "image/jpeg", "image/gif" or "image/webp", by the first bytes; empty: another type.
std::string_view image_type(std::string_view bytes);
// The type of a picture by its bytes, of a text by the name's ending. Other bytes are application/octet-stream, or
// application/pdf by the name.
std::string_view mime_type(std::string_view name, std::string_view bytes);

// True for UTF-8 without NUL, which a model can read as text.
bool is_text(std::string_view bytes);
