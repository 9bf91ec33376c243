// National ids: numbers that states give to persons and firms, with each country's check digits. Source: the issuers'
// own descriptions. Pure functions of the text. Used by: pii/numbers.cc, pii/shapes.cc.
#pragma once
#include <string_view>

namespace policies {

// Whether `id` is valid in any known country. `id`: capital letters and digits without separators. A tenth of random
// numbers pass for some country: the text around must say that it is an id.
bool valid_national_id(std::string_view id);
// Whether `written` is an id in a form that seldom means another number: with the country's own separators
// ("131052-308T", "123.456.789-09"), with a date or two check digits within. `written`: the id with its separators.
bool certain_national_id(std::string_view written);
// The Danish CPR number: a date and four digits; no check digit since 2007.
bool valid_cpr(std::string_view digits);
// For taxpayers in the USA without a social security number: 9xx-70-xxxx.
bool valid_itin(std::string_view digits);

}  // namespace policies
