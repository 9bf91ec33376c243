#include "policies/pii/detect.h"

#include "policies/pii/validate.h"
#include "tests/catch.h"

namespace {

using Findings = std::vector<std::string>;

const policies::PiiDetector& detector() {
  static const auto created = *policies::PiiDetector::make({});
  return *created;
}

// "type:text" of each finding.
Findings find(std::string_view text, const policies::PiiDetector& with = detector()) {
  Findings all;
  for (const auto& item : with.find(text))
    all.push_back(std::string(item.type) + ":" + std::string(text.substr(item.begin, item.end - item.begin)));
  return all;
}

std::string repeated(std::string_view part, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += part;
  return text;
}

}  // namespace

TEST_CASE("every type is found where it stands", "[pii]") {
  auto [text, expected] = GENERATE(table<std::string, Findings>({
      {"mail ada.lovelace+math@example.co.uk, now", {"email:ada.lovelace+math@example.co.uk"}},
      {"<bob_1@x-y.org>", {"email:bob_1@x-y.org"}},
      {"call 555-123-4567 or mail a@b.co", {"phone:555-123-4567", "email:a@b.co"}},
      {"(555) 234-5678", {"phone:(555) 234-5678"}},
      {"+1 212.555.0187", {"phone:+1 212.555.0187"}},
      {"+44 20 7946 0958", {"phone:+44 20 7946 0958"}},
      {"Tel: +49 (0)30 901820", {"phone:+49 (0)30 901820"}},
      {"phone: 2125550187", {"phone:2125550187"}},
      {"123-456-7890", {"phone:123-456-7890"}},
      {"Tel. 020 7946 0958, Fax: (030) 901820-15", {"phone:020 7946 0958", "phone:(030) 901820-15"}},
      {"telephone number 06 12 34 56 78", {"phone:06 12 34 56 78"}},
      {"SSN 078-05-1120.", {"ssn:078-05-1120"}},
      {"123-45-6789", {"ssn:123-45-6789"}},
      {"an j\xC3\xBCrgen@example.de", {"email:j\xC3\xBCrgen@example.de"}},
      {"card 4111 1111 1111 1111 exp", {"credit_card:4111 1111 1111 1111"}},
      {"378282246310005", {"credit_card:378282246310005"}},
      {"5555-5555-5555-4444", {"credit_card:5555-5555-5555-4444"}},
      {"from 10.0.0.1 to 110.0.0.12", {"ip_address:10.0.0.1", "ip_address:110.0.0.12"}},
      {"use 1.1.1.1 or DNS 9.9.9.9", {"ip_address:1.1.1.1", "ip_address:9.9.9.9"}},
      {"at 2001:db8:85a3::8a2e:370:7334!", {"ip_address:2001:db8:85a3::8a2e:370:7334"}},
      {"fe80:0:0:0:204:61ff:fe9d:f156", {"ip_address:fe80:0:0:0:204:61ff:fe9d:f156"}},
      {"::ffff:192.0.2.128", {"ip_address:::ffff:192.0.2.128"}},
      {"link/ether 00:1a:2b:3c:4d:5e brd", {"mac_address:00:1a:2b:3c:4d:5e"}},
      {"00-1A-2B-3C-4D-5E", {"mac_address:00-1A-2B-3C-4D-5E"}},
      {"IBAN DE89 3704 0044 0532 0130 00 AND MORE", {"iban:DE89 3704 0044 0532 0130 00"}},
      {"GB29NWBK60161331926819", {"iban:GB29NWBK60161331926819"}},
      {"to 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", {"crypto_address:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}},
      {"bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", {"crypto_address:bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"}},
      {"0x52908400098527886E0F7030069857D2E4169EE7", {"crypto_address:0x52908400098527886E0F7030069857D2E4169EE7"}},
      {"Passport No: C01X00T47", {"passport:C01X00T47"}},
      {"postgres://app:s3cr3t!pw@db.internal/x", {"url_credentials:app:s3cr3t!pw"}},
      // What 4ed32c5 missed.
      {"SSN: 078051120", {"ssn:078051120"}},
      {"name,ssn\nAda,078051120", {"ssn:078051120"}},
      {"ring 0044 20 7946 0958", {"phone:0044 20 7946 0958"}},
      {"Mobile 07700 900123", {"phone:07700 900123"}},
      {"tel\xC3\xA9\x66ono: 912 345 678", {"phone:912 345 678"}},
      {"Handy 0171 2345678", {"phone:0171 2345678"}},
      {"\"customerPhone\": \"0612345678\"", {"phone:0612345678"}},
      {"Vlan10 aabb.ccdd.ee0f DYNAMIC", {"mac_address:aabb.ccdd.ee0f"}},
      {"mac 001a2b3c4d5e", {"mac_address:001a2b3c4d5e"}},
      {"listening on [::1]:5432", {"ip_address:::1"}},
      {"\"john smith\"@example.org", {"email:\"john smith\"@example.org"}},
      {"info@m\xC3\xBCnchen.de", {"email:info@m\xC3\xBCnchen.de"}},
      {"passport, K0876543", {"passport:K0876543"}},
      {"pasaporte n\xC2\xBA AAF123456", {"passport:AAF123456"}},
      {"Maestro 501853014352", {"credit_card:501853014352"}},
      {"JCB 3530 1113 3330 0000", {"credit_card:3530 1113 3330 0000"}},
      {"NI number PW 44 06 78 C", {"national_id:PW 44 06 78 C"}},
      {"asiakas 131052-308T soitti", {"national_id:131052-308T"}},
      {"DNI 12345678Z", {"national_id:12345678Z"}},
      {"cliente 111.444.777-35 pagou", {"national_id:111.444.777-35"}},
      {"PESEL 44051401359", {"national_id:44051401359"}},
      {"RSSMRA85T10A562S", {"national_id:RSSMRA85T10A562S"}},
      {"S1234567D", {"national_id:S1234567D"}},
  }));
  CAPTURE(text);
  CHECK(find(text) == expected);
}

TEST_CASE("secrets are found by their makers' marks and by the words before them", "[pii]") {
  const std::string r = "aZ3kQ9xLm2PwT7vB8nYc5RdS1fGh4JuE6oXi";  // 36
  auto [text, secret] = GENERATE_COPY(table<std::string, std::string>({
      {"key AKIAIOSFODNN7ABCDEFG.", "AKIAIOSFODNN7ABCDEFG"},
      {"ghp_" + r, "ghp_" + r},
      {"glpat-" + r.substr(0, 20), "glpat-" + r.substr(0, 20)},
      {"xoxb-2416-" + r, "xoxb-2416-" + r},
      {"sk_live_" + r.substr(0, 24), "sk_live_" + r.substr(0, 24)},
      {"OPENAI_API_KEY=sk-proj-" + r, "sk-proj-" + r},
      {"AIza" + r.substr(0, 35), "AIza" + r.substr(0, 35)},
      {"npm_" + r, "npm_" + r},
      {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123"},
      {"{\"api_key\": \"" + r + "\"}", r},
      {"password = 'Tr0ub4dor&3'", "Tr0ub4dor&3"},
      {"my password is hunter2hunter2", "hunter2hunter2"},
      {"aws_secret_access_key: " + r, r},
      {"DB_PASSWORD=Tr0ub4dor&3", "Tr0ub4dor&3"},
      {"AccountKey=" + r + ";EndpointSuffix=core.windows.net", r},
      {"api_key=qwzkxjvnbplmrtdhfgsy", "qwzkxjvnbplmrtdhfgsy"},
      {"the token " + r + " is", r},
      {"secret " + r, r},
      {"Authorization: Bearer qwzkxjvnbplmrtdhfgsyca", "qwzkxjvnbplmrtdhfgsyca"},
      {"Authorization: Bearer " + r, r},
      {"name_token=" + r, r},
      {"api_key_" + r, "api_key_" + r},
      {"SECRET_KEY := \"" + r + "\";", r},
      {"test_clientSecret = \"" + r + "\"", r},
      // What 4ed32c5 missed.
      {"pwd=abc123", "abc123"},
      {"password: hunter2", "hunter2"},
      {"Passwort: Sommer24", "Sommer24"},
      {"op ops_eyJ" + r + r, "ops_eyJ" + r + r},
      {"adobe p8e-" + r.substr(0, 32), "p8e-" + r.substr(0, 32)},
      {"age AGE-SECRET-KEY-1" + std::string("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE"),
       "AGE-SECRET-KEY-1QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE"},
      {"pul-0123f56789abcdef0123f56789abcdef01d3f567", "pul-0123f56789abcdef0123f56789abcdef01d3f567"},
      {"gsk_" + r + r.substr(0, 16), "gsk_" + r + r.substr(0, 16)},
  }));
  CAPTURE(text);
  CHECK(find(text) == Findings{"api_key:" + secret});
}

TEST_CASE("a private key is found with all its lines", "[pii]") {
  const std::string key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----";
  CHECK(find("a " + key + "\nb") == Findings{"private_key:" + key});
  CHECK(find("-----BEGIN PRIVATE KEY----- without an end").empty());
  CHECK(find("-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----").empty());
}

TEST_CASE("what only looks like personal data is left alone", "[pii]") {
  const std::string text = GENERATE(
      as<std::string>(), "999.999.999.999", "version 1.2.3.4", "1.2.3.4.5", "release 10.0.0.1", "127.0.0.1 and 0.0.0.0",
      "a10.0.0.1", "123e4567-e89b-12d3-a456-426614174000", "d41d8cd98f00b204e9800998ecf8427e", "2026-11-21T12:34:56Z",
      "12:34:56", "std::vector<a::b>", "order 1234567890", "4111 1111 1111 1112", "0000 0000 0000 0000", "000-12-3456",
      "666-12-3456", "987-65-4320", "078-05-11201", "icon@2x.png", "a@b", "@mention", "user@localhost",
      "DE89 3704 0044 0532 0130 01", "XX89370400440532013000", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb",
      "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5", "0x0000000000000000000000000000000000000000", "passport control",
      "password: required", "token internationalization", "secret: internationalization", "phone 0800 is free",
      "telescope 0123 4567 890", "call 123456", "token completion_tokens_in_total", "1234567890",
      "password = ${DB_PASSWORD}", "api_key = your_api_key_here", "token: <secret>", "secret=xxxxxxxxxxxx",
      "the secret is out there somewhere", "tokens: completion, prompt", "sk-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
      "postgres://user:${PASSWORD}@host/db", "https://example.org/a?b=c", "1,024.50", "v2.10.3", "#4711-2024",
      "00:00:00:00:00:00", "00:1a:2b:3c:4d:5e:6f:70",
      // What 4ed32c5 took for something.
      "if type == token.ERRORTOKEN", "token = token.ERRORTOKEN", "self.token = token.ERRORTOKEN",
      "\"tokenUrl\":\"https://petstore3.swagger.io/oauth/Token\"", "?$skipToken=eyJhIjoxMjM0NTY3OH0",
      "getty@tty1.service: Succeeded.", "ver=1.22.33.4", "LibreSSL 2.2.2.2", "with SQLite 3.3.3.3,",
      "8.2.4.44 Script data", "[22.2.1.5] says so", "AKIAIOSFODNN7EXAMPLE", "orderId: 4539578763621486",
      "part no. 482-19-3847", "git clone git@github.com:owner/repo.git", "850315-1234.txt", "text[::1]",
      "pass: 12345678 tests", "access key: Ctrl+Shift+K", "password: 'required|min:8'", "Secret: SecretManager2",
      "pip install sk-learn-contrib-package-name-very-long", "+1 000 000 000", "national id 000000000",
      "mobile 20240101", "255.255.255.0", "sku,n\n482-19-3847,1\n982-19-3847,2\n",
      "1\t482-19-3847\n2\t912-41-0047\n3\t204-55-1187\n");
  CAPTURE(text);
  CHECK(find(text) == Findings{});
}

TEST_CASE("a finding is itself, not what stands in another", "[pii]") {
  CHECK(find("110.0.0.12 10.0.0.1") == Findings{"ip_address:110.0.0.12", "ip_address:10.0.0.1"});
  CHECK(find("call 555-123-4567 or mail a@b.co") == Findings{"phone:555-123-4567", "email:a@b.co"});
  // Two rules about the same bytes: one finding, that of the longer.
  CHECK(find("password=ada@lovelace.org1X") == Findings{"api_key:ada@lovelace.org1X"});
}

TEST_CASE("overlapping findings become one", "[pii]") {
  auto apart = policies::apart({{5, 9, "b"}, {0, 3, "a"}, {2, 6, "c"}, {9, 12, "d"}, {20, 30, "e"}, {22, 24, "f"}});
  CHECK(apart == std::vector<policies::PiiFinding>{{0, 9, "c"}, {9, 12, "d"}, {20, 30, "e"}});
  CHECK(policies::apart({}).empty());
}

TEST_CASE("a policy adds patterns, leaves types out and allows texts", "[pii]") {
  policies::PiiOptions options;
  options.patterns = {{"employee_id", "\\bEMP-[0-9]{6}\\b"}, {"room", "room ([0-9]+)"}};
  options.allowed = {"support@example.com"};
  auto with = *policies::PiiDetector::make(options);
  CHECK(find("EMP-123456 in room 12, support@example.com, ada@example.com", *with) ==
        Findings{"employee_id:EMP-123456", "room:12", "email:ada@example.com"});
  options.types = {"room"};
  CHECK(find("EMP-123456 in room 12, ada@example.com", **policies::PiiDetector::make(options)) == Findings{"room:12"});
  options = {};
  options.secrets = policies::PiiOptions::Secrets::leave;
  CHECK(find("password=Tr0ub4dor&3 a@b.co", **policies::PiiDetector::make(options)) == Findings{"email:a@b.co"});
}

TEST_CASE("options that mean nothing are refused by name", "[pii]") {
  auto refused = [](const policies::PiiOptions& options) {
    auto created = policies::PiiDetector::make(options);
    REQUIRE_FALSE(created);
    CHECK(created.error().code == Code::invalid);
    return created.error().what;
  };
  policies::PiiOptions options;
  options.types = {"emial"};
  CHECK_THAT(refused(options), Catch::Contains("'emial'") && Catch::Contains("email"));
  for (const char* bad : {"(", "(?=a)", "\\1", "a*", "", "a{1001}"}) {
    options = {};
    options.patterns = {{"x", bad}};
    CAPTURE(bad);
    CHECK_THAT(refused(options), Catch::Contains("'x'"));
  }
  for (const char* bad : {"", "X", "1a", "a-b", "a23456789012345678901234567890123"}) {
    options = {};
    options.patterns = {{bad, "x"}};
    CHECK_THAT(refused(options), Catch::Contains("type"));
  }
}

TEST_CASE("text of any bytes is read in linear time", "[pii]") {
  // Each would take minutes if anything in it were looked at again and again.
  const auto text = GENERATE(
      repeated("a", 1 << 20), repeated("a@", 1 << 20), repeated("1", 1 << 20), repeated("1 ", 1 << 20),
      repeated("a://b:", 1 << 20), repeated("eyJaaaaaaaaa.", 1 << 20), repeated("-----BEGIN PRIVATE KEY-----", 1 << 18),
      repeated("password=", 1 << 18), repeated("::", 1 << 20), repeated("\xFF\x00", 1 << 20),
      repeated("a@b.c", 1 << 19), repeated("ab:", 1 << 19), repeated("DE89 ", 1 << 18), repeated("+1 ", 1 << 19),
      repeated("1.", 1 << 19), repeated("a1.1.1.1.", 1 << 19), repeated("[A_", 1 << 19), repeated("tel ", 1 << 19),
      repeated("id number", 1 << 18), repeated("ssn is the ", 1 << 18), repeated("123-45-6789,", 1 << 18),
      repeated("4111111111111111\n", 1 << 18), repeated("123456789,", 1 << 18), repeated("token:", 1 << 19),
      repeated("pass='", 1 << 19), repeated("\"a\"@", 1 << 19), repeated("@\xC3\xBC.", 1 << 19),
      repeated("aabb.", 1 << 19), repeated("passport AB 1", 1 << 18), repeated("card 4 ", 1 << 18),
      repeated("sk-aaaaaaaa ", 1 << 19), repeated(".aaaaaa.aaaaaaaa ", 1 << 19), repeated("live_aaaaaaaa", 1 << 19),
      repeated("std::a::b ", 1 << 19), repeated(".aaaaaa.", 1 << 19), repeated("1Q~", 1 << 19),
      repeated("_mmk", 1 << 19), "id,ssn\n" + repeated("1,123456789\n", 1 << 18), repeated("00 1 ", 1 << 19));
  CAPTURE(text.substr(0, 20));
  for (const auto& item : detector().find(text)) REQUIRE((item.begin < item.end && item.end <= text.size()));
  CHECK(detector().find("").empty());
}

TEST_CASE("runs that only look like something are not looked at from each of their members", "[pii]") {
  const auto text = GENERATE(repeated("1 ", 1 << 18), repeated("ab:cd:", 1 << 18), repeated("1.", 1 << 18),
                             repeated("123-", 1 << 18), repeated("+1 1 ", 1 << 18), repeated("::", 1 << 18));
  CAPTURE(text.substr(0, 20));
  policies::PiiScan scan(text, detector());
  while (scan.step() == policies::PiiScan::Step::more) continue;
  CHECK(scan.looks() < 10);
  CHECK(scan.take().empty());
}

TEST_CASE("a scan's step is bounded, and where it ends changes nothing", "[pii]") {
  // Findings around every place where a step over this text can end: after so many bytes, or so many looks.
  std::string text;
  size_t expected = 0;
  while (text.size() < (600 << 10)) {
    text += "1.1.1.1 ";
    expected++;
    if (expected % 1000 == 0) text += repeated("word ", 100 << 10);
  }
  policies::PiiScan scan(text, detector());
  size_t looks = 0, steps = 0, max = 0;
  for (auto step = policies::PiiScan::Step::more; step == policies::PiiScan::Step::more; steps++) {
    step = scan.step();
    max = std::max(max, scan.looks() - looks);
    looks = scan.looks();
  }
  CHECK(max <= 256);
  CHECK(steps >= expected / 256);
  CHECK(scan.take().size() == expected);
  // One that begins before the end of a step's bytes and ends behind it.
  for (size_t shift = 0; shift < 20; shift++) {
    const std::string long_text = std::string((256 << 10) - shift, ' ') + "ada@lovelace.org";
    CHECK(find(long_text) == Findings{"email:ada@lovelace.org"});
  }
}

TEST_CASE("a card is found before other numbers", "[pii]") {
  CHECK(find("4111 1111 1111 1111 123") == Findings{"credit_card:4111 1111 1111 1111"});
  CHECK(find("2024 4111 1111 1111 1111") == Findings{"credit_card:4111 1111 1111 1111"});
  CHECK(find("3782 822463 10005") == Findings{"credit_card:3782 822463 10005"});
}

TEST_CASE("validators know the rules", "[pii]") {
  CHECK(policies::valid_card("4222222222222"));
  CHECK_FALSE(policies::valid_card("4111111111111112"));
  CHECK_FALSE(policies::valid_card("1234567812345670"));  // Luhn, but nobody's
  CHECK(policies::valid_rare_card("501853014352"));
  CHECK_FALSE(policies::valid_rare_card("501853014353"));
  CHECK(policies::valid_iban("NO9386011117947"));
  CHECK_FALSE(policies::valid_iban("NO93860111179470"));
  CHECK(policies::valid_ipv6("2001:db8::1"));
  CHECK_FALSE(policies::valid_ipv6("a::b"));
  CHECK_FALSE(policies::valid_ipv6("1:2:3"));
  CHECK(policies::valid_bitcoin("3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy"));
  CHECK(policies::valid_bitcoin("bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0"));
  CHECK(policies::entropy("aaaa") == 0);
  CHECK(policies::entropy("abcd") == 2);
}
