// Everyday wishes: words of people that describe a wish and do not name the tool: "my shirts are filthy" is about
// washing. The second list of everyday_words.h, by themes, with phrases of two words ("days off"). Written for this
// project.
#pragma once
#include <string_view>

namespace catalog {

// Between commas: words, and after the colon the subjects that a person with these words may mean. '_' joins the words
// of a phrase.
extern const std::string_view kWishes;

}  // namespace catalog
