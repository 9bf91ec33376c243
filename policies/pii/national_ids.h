// National ids: numbers of persons and firms as states give them out, with the check digits that each of them has.
// Source: the issuers' own descriptions. Pure functions of the text. Used by: pii/numbers.cc.
#pragma once
#include <string_view>

namespace policies {

// Of any country known here. `id`: capital letters and digits, nothing between them. A tenth of random numbers pass for
// some country: what stands around must say that it is an id.
bool valid_national_id(std::string_view id);
// Of a country whose ids are seldom anything else: written with its own marks ("131052-308T", "123.456.789-09"), with a
// date or two check digits within. `written`: with those marks.
bool certain_national_id(std::string_view written);
// The Danish CPR number: a date and four digits; no check digit since 2007.
bool valid_cpr(std::string_view digits);
// Given to taxpayers in the USA who have no social security number: 9xx-70-xxxx.
bool valid_itin(std::string_view digits);

}  // namespace policies
