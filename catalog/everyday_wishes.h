// Everyday wishes: what people describe instead of naming it: "my shirts are filthy" is about washing. The second list
// of everyday_words.h, by themes, with turns of phrase of two words ("days off"). Written by us.
#pragma once
#include <string_view>

namespace catalog {

// Between commas: words, and after the colon what somebody who says them may be after. Words joined by '_' are said one
// after the other.
extern const std::string_view kWishes;

}  // namespace catalog
