// Libcrypto: the functions of OpenSSL's libcrypto that check signatures with RSA and P-256, loaded with dlopen(3) when
// the first of these keys is read. libsodium, which the daemon has anyway, checks Ed25519 only, and most identity
// providers sign with RSA. libjwt 1.10 and cjose 0.6 are packaged, too, but old, and bring jansson as a second reader
// of JSON. A daemon without these keys does not load it: no time at the start, no mapping in forked jails. Used by:
// json_web_key.cc. Errors: unavailable, libcrypto is missing or lacks a function.
#pragma once
#include <openssl/evp.h>
#include <openssl/x509.h>

#include "supervisor/base/result.h"

namespace credentials {

struct Libcrypto {
  decltype(&::d2i_PUBKEY) d2i_pubkey;
  decltype(&::EVP_PKEY_free) pkey_free;
  decltype(&::EVP_MD_CTX_new) md_ctx_new;
  decltype(&::EVP_MD_CTX_free) md_ctx_free;
  decltype(&::EVP_sha256) sha256;
  decltype(&::EVP_DigestVerifyInit) digest_verify_init;
  decltype(&::EVP_DigestVerify) digest_verify;
};

// The result is valid until the process ends. After an error, the next call tries again. One thread at a time.
Result<const Libcrypto*> load_libcrypto();

}  // namespace credentials
