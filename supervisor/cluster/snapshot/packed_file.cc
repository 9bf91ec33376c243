#include "supervisor/cluster/snapshot/packed_file.h"

#include <sodium.h>
#include <unistd.h>
#include <zstd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "supervisor/base/path.h"

namespace cluster {
namespace {

constexpr int kLevel = 1;       // fast: a moving workspace waits for it
constexpr int kMaxWindow = 23;  // bits: 8 MiB
constexpr size_t kBuffer = 256 << 10;

tl::unexpected<Error> damaged(const char* why) {
  return fail(Code::invalid, std::string("the snapshot is damaged: ") + why);
}

}  // namespace

struct RunningDigest::State {
  crypto_hash_sha256_state hash;
};

RunningDigest::RunningDigest() : state_(std::make_unique<State>()) { crypto_hash_sha256_init(&state_->hash); }
RunningDigest::~RunningDigest() = default;

void RunningDigest::add(std::string_view bytes) {
  crypto_hash_sha256_update(&state_->hash, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

std::string RunningDigest::hex() {
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash{};
  crypto_hash_sha256_final(&state_->hash, hash.data());
  std::array<char, crypto_hash_sha256_BYTES * 2 + 1> digits{};
  sodium_bin2hex(digits.data(), digits.size(), hash.data(), hash.size());
  return digits.data();
}

struct PackedWriter::Stream {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  std::vector<char> out = std::vector<char>(kBuffer);
  Stream() = default;
  Stream(const Stream&) = delete;
  ~Stream() { ZSTD_freeCCtx(context); }
};

PackedWriter::PackedWriter(int file) : file_(file), stream_(std::make_unique<Stream>()) {
  ZSTD_CCtx_setParameter(stream_->context, ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(stream_->context, ZSTD_c_checksumFlag, 1);
}
PackedWriter::~PackedWriter() = default;

Result<> PackedWriter::pass(std::string_view bytes, bool is_end) {
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  for (;;) {
    ZSTD_outBuffer out{stream_->out.data(), stream_->out.size(), 0};
    const size_t rest = ZSTD_compressStream2(stream_->context, &out, &in, is_end ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(rest)) return fail(Code::internal, std::string("zstd: ") + ZSTD_getErrorName(rest));
    const std::string_view text(stream_->out.data(), out.pos);
    digest_.add(text);
    written_ += text.size();
    CHECKED(write_all(file_, text));
    if (is_end ? rest == 0 : in.pos == in.size) return {};
  }
}

Result<> PackedWriter::add(std::string_view bytes) { return pass(bytes, false); }

Result<std::string> PackedWriter::finish() {
  CHECKED(pass({}, true));
  return digest_.hex();
}

struct PackedReader::Stream {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  std::vector<char> in = std::vector<char>(kBuffer);
  ZSTD_inBuffer remainder{nullptr, 0, 0};
  Stream() = default;
  Stream(const Stream&) = delete;
  ~Stream() { ZSTD_freeDCtx(context); }
};

PackedReader::PackedReader(int file) : file_(file), stream_(std::make_unique<Stream>()) {
  ZSTD_DCtx_setParameter(stream_->context, ZSTD_d_windowLogMax, kMaxWindow);
}
PackedReader::~PackedReader() = default;

Result<> PackedReader::read(char* bytes, size_t count) {
  ZSTD_outBuffer out{bytes, count, 0};
  while (out.pos < out.size) {
    const size_t before = out.pos;
    const size_t state = ZSTD_decompressStream(stream_->context, &out, &stream_->remainder);
    if (ZSTD_isError(state)) return damaged(ZSTD_getErrorName(state));
    if (out.pos != before || stream_->remainder.pos < stream_->remainder.size) continue;
    const ssize_t got = ::read(file_, stream_->in.data(), stream_->in.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "read the snapshot");
    if (got == 0) return damaged("it ends too early");
    stream_->remainder = {stream_->in.data(), static_cast<size_t>(got), 0};
  }
  return {};
}

}  // namespace cluster
