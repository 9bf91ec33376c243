#include "policies/pii/national_ids.h"

#include "tests/catch.h"

TEST_CASE("national ids are told by their check digits", "[pii]") {
  // Made up, or the issuers' own examples.
  const std::string id =
      GENERATE(as<std::string>(), "PW440678C", "9434765919", "131052308T", "090519A025J", "8003046359", "198003046359",
               "17100428954", "465804743", "12345678Z", "X1234567L", "RSSMRA85T10A562S", "44051401359",
               "255012011917121", "86095742719", "85073003328", "123456789", "11144477735", "11222333000181",
               "234123412346", "AFZPK7190K", "046454286", "123456782", "2123456701", "8001015009087", "S1234567D",
               "8803202123458", "10000000146", "7569217076985", "7103192745", "11010519491231002X", "A123456789",
               "GIGP651018HPLBMG02", "20123456786", "123456785", "A1234563", "1800101221144", "1234567T", "33392005961",
               "37605030299", "039337423", "01011012349", "7523169263", "1237010180", "123456789018");
  CAPTURE(id);
  CHECK(policies::valid_national_id(id));
}

TEST_CASE("what has an id's form but no right check digit is certain nowhere", "[pii]") {
  const char* written = GENERATE("131052-308U", "111.444.777-36", "85.07.30-033.29", "756.9217.0769.86", "S1234567E",
                                 "RSSMRA85T10A562T", "880320-2123459", "A123456788", "X1234567M", "20-12345678-5", "");
  CAPTURE(written);
  CHECK_FALSE(policies::certain_national_id(written));
}

TEST_CASE("an id with its country's marks is certain", "[pii]") {
  const char* written = GENERATE("131052-308T", "111.444.777-35", "11.222.333/0001-81", "85.07.30-033.28",
                                 "756.9217.0769.85", "S1234567D", "RSSMRA85T10A562S", "A123456789", "X1234567L",
                                 "20-12345678-6", "12.345.678-5", "2 55 01 20 119 171 21", "PW 44 06 78 C");
  CAPTURE(written);
  CHECK(policies::certain_national_id(written));
}

TEST_CASE("ids without check digits have dates and groups", "[pii]") {
  CHECK(policies::valid_cpr("0209762436"));
  CHECK_FALSE(policies::valid_cpr("3209762436"));
  CHECK(policies::valid_itin("912701234"));
  CHECK_FALSE(policies::valid_itin("912931234"));
  CHECK_FALSE(policies::valid_itin("812701234"));
}
