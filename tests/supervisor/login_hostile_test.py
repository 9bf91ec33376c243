#!/usr/bin/env python3
"""Logins at upstream servers (OAuth): authorization servers that mean no good, and redirects of others."""
import unittest
import urllib.parse

from login_test import REDIRECT, LoginTest, browse


class Hostile(LoginTest):
    def test_metadata_that_means_no_good(self):
        self.begin()
        for wrong, says in (
                ("issuer", "its metadata is of another issuer: 'https://evil.example'"),
                ("http", "its metadata has a wrong token_endpoint: the URL is not https"),
                ("fragment", "wrong authorization_endpoint: the URL has a fragment"),
                ("plain", "does not say that it checks PKCE with S256"),
                ("no registration", "registers no clients by itself"),
                ("redirect", "redirects are not followed"),
                ("huge", "the reply is larger than 262144 bytes"), ("endless", "the reply is larger than 262144 bytes"),
                ("deep", "its metadata is not a JSON object"),
                ("resource", "its metadata is about another resource: 'https://evil.example/mcp'"),
                ("http issuer", "names no authorization server with https"),
                ("other place", "names metadata at another place than its own")):
            with self.subTest(wrong):
                self.issuer.wrong = wrong
                _, text = self.admin.error("BeginLogin", "sssas", "far", "", REDIRECT, [])
                self.assertIn(says, text)
        self.assertEqual((self.issuer.asked, self.issuer.registered, self.issuer.requests), ([], [], []))
        self.issuer.wrong = None
        for redirect in ("https://evil.example/x", "http://evil.example/x", REDIRECT + "?x=1", REDIRECT + "#x", "nothing"):
            self.assertEqual(self.admin.error("BeginLogin", "sssas", "far", "", redirect, [])[0], "Invalid")

    def test_redirects_that_do_not_belong_to_the_login(self):
        self.begin()
        for wrong, says in (("state", "its state is another one"), ("iss", "its iss is 'https://evil.example'"),
                            ("no iss", "its iss is missing"), ("no code", "the redirect has no code")):
            with self.subTest(wrong):
                self.issuer.wrong = wrong
                identity, url = self.admin.call("BeginLogin", "sssas", "far", "", REDIRECT, [])
                _, text = self.admin.error("FinishLogin", "ssss", "far", "", identity, browse(url))
                self.assertIn(says, text)
        self.issuer.wrong = None
        identity, url = self.admin.call("BeginLogin", "sssas", "far", "", REDIRECT, [])
        good = browse(url)
        for text in ("http://evil.example/callback?" + good.partition("?")[2], REDIRECT, good + "&code=other", good + "&x=%zz",
                     REDIRECT + "x?" + good.partition("?")[2]):
            with self.subTest(text):
                self.admin.error("FinishLogin", "ssss", "far", "", identity, text)
        self.assertEqual(self.issuer.requests, [])
        self.admin.call("FinishLogin", "ssss", "far", "", identity, good)
        self.assertEqual(self.admin.error("FinishLogin", "ssss", "far", "", identity, good)[0], "NotFound")  # once
        self.assertEqual(self.call(), {"result": {"sum": 3}}, self.daemon.log_text())

    def test_tokens_that_are_no_tokens(self):
        self.begin()
        for answer, says in (({"token_type": "MAC"}, "not of the type Bearer"), ({"token_type": None}, "not of the type Bearer"),
                             ({"expires_in": -5}, "wrong expires_in"), ({"expires_in": "soon"}, "wrong expires_in"),
                             ({"expires_in": 1e300}, "wrong expires_in"),
                             ({"scope": "files:read admin"}, "has the scope 'admin', which was not asked for"),
                             ({"access_token": "a\r\nX-Evil: 1"}, "no usable access_token"),
                             ({"access_token": ""}, "no usable access_token"), ({"access_token": 7}, "no usable access_token"),
                             ({"access_token": "x" * 20_000}, "no usable access_token"),
                             ({"refresh_token": "r\n"}, "no usable refresh_token")):
            with self.subTest(answer):
                self.issuer.answer = answer
                identity, url = self.admin.call("BeginLogin", "sssas", "far", "", REDIRECT, [])
                _, text = self.admin.error("FinishLogin", "ssss", "far", "", identity, browse(url))
                self.assertIn(says, text)
        self.assertIn("nobody has logged in", self.call()["error"])
        self.issuer.answer = {"expires_in": 2**63}  # shortened to a year
        self.log_in()
        self.assertEqual(self.call(), {"result": {"sum": 3}}, self.daemon.log_text())

    def test_a_refusal_of_the_person_is_told(self):
        self.begin()
        self.issuer.wrong = "error"
        identity, url = self.admin.call("BeginLogin", "sssas", "far", "", REDIRECT, [])
        redirected = browse(url)
        _, text = self.admin.error("FinishLogin", "ssss", "far", "", identity, redirected)
        self.assertIn("iss is missing", text)  # RFC 9207: errors have it, too
        _, text = self.admin.error("FinishLogin", "ssss", "far", "", identity,
                                   redirected + "&" + urllib.parse.urlencode({"iss": self.issuer.issuer}))
        self.assertIn("refuses the login: access_denied (not today)", text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
