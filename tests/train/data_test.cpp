#include "src/train/data.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <set>

#include "ebbtide/error.hpp"
#include "tests/temporary_directory.hpp"

namespace ebbtide::train {
namespace {

using test::TemporaryDirectory;

template <typename T>
std::string bytes_of(const std::vector<T>& ids) {
  return {reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(T)};
}
template <typename T>
std::string with_header(const std::vector<T>& ids) {
  return make_token_header(sizeof(T), ids.size()) + bytes_of(ids);
}

struct Window {
  Sample at;
  std::vector<std::uint32_t> tokens;
  std::vector<std::uint32_t> targets;
};
Window sample(const DataSource& source, std::size_t seq_len, std::uint64_t index) {
  Window w{{}, std::vector<std::uint32_t>(seq_len), std::vector<std::uint32_t>(seq_len)};
  w.at = source.sample(index, w.tokens, w.targets);
  return w;
}
Window window(const DataSource& source, std::size_t seq_len, std::uint64_t index) {
  Window w{{}, std::vector<std::uint32_t>(seq_len), std::vector<std::uint32_t>(seq_len)};
  w.at = source.window(index, w.tokens, w.targets);
  return w;
}

// Message of the error with this code that `run` throws.
template <typename Run>
std::string refusal(Errc code, Run run) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), make_error_code(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}
std::string refusal(const DataOptions& options, Errc code = Errc::kBadData) {
  return refusal(code, [&] { const DataSource source(options); });
}
void expect_names(const std::string& message, std::initializer_list<std::string> parts) {
  for (const std::string& part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
}

TEST(DataSource, TextGivesItsBytesAndTargetsOneLater) {
  const TemporaryDirectory directory;
  const DataSource source(
      {.files = {directory.write("a.txt", "abc\xff\x01")}, .vocab = 256, .seq_len = 4});
  EXPECT_EQ(source.token_count(), 5U);
  const Window w = sample(source, 4, 0);  // the only one there is
  EXPECT_EQ(w.tokens, (std::vector<std::uint32_t>{'a', 'b', 'c', 255}));
  EXPECT_EQ(w.targets, (std::vector<std::uint32_t>{'b', 'c', 255, 1}));
}

TEST(DataSource, FilesAreOneStreamInTheGivenOrderWhateverTheirTypes) {
  const TemporaryDirectory directory;
  const DataSource source(
      {.files = {directory.write("c.txt", "ab"),
                 directory.write("b.bin", with_header<std::uint16_t>({1000, 65535})),
                 directory.write("a.bin", with_header<std::uint32_t>({70000}))},
       .vocab = 80000,
       .seq_len = 4});
  const Window w = sample(source, 4, 9);
  EXPECT_EQ(w.tokens, (std::vector<std::uint32_t>{'a', 'b', 1000, 65535}));
  EXPECT_EQ(w.targets, (std::vector<std::uint32_t>{'b', 1000, 65535, 70000}));
}

TEST(DataSource, ASampleSaysWhereItIs) {
  const TemporaryDirectory directory;
  const DataSource source({.files = {directory.write("a", "0123456789"),
                                     directory.write("b", "abcdefghijklmnopqrstuvwxyz")},
                           .vocab = 256,
                           .seq_len = 3});
  const std::string stream = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::set<std::uint64_t> positions;
  for (std::uint64_t index = 0; index < 1000; ++index) {
    const Window w = sample(source, 3, index);
    ASSERT_EQ(w.at.file, w.at.position < 10 ? 0U : 1U);
    ASSERT_EQ(w.at.offset, w.at.position - (w.at.file == 0 ? 0 : 10));
    for (std::size_t i = 0; i < 3; ++i) {
      ASSERT_EQ(w.tokens[i], static_cast<std::uint32_t>(stream[w.at.position + i]));
      ASSERT_EQ(w.targets[i], static_cast<std::uint32_t>(stream[w.at.position + i + 1]));
    }
    positions.insert(w.at.position);
  }
  // Every start that there is, the first and the last too.
  EXPECT_EQ(positions.size(), stream.size() - 3);
}

// FAULTS I5: a resumed run reads on where the stopped one was, from its step counter alone.
TEST(DataSource, SamplesDependOnSeedAndIndexAlone) {
  const TemporaryDirectory directory;
  const auto file = directory.write("a", std::string(100'000, 'x'));
  const DataOptions options{.files = {file}, .vocab = 256, .seq_len = 16, .seed = 5};
  const DataSource straight(options);
  std::vector<std::uint64_t> positions;
  for (std::uint64_t index = 0; index < 40; ++index)
    positions.push_back(sample(straight, 16, index).at.position);
  const DataSource resumed(options);
  for (std::uint64_t index = 40; index-- > 20;)
    EXPECT_EQ(sample(resumed, 16, index).at.position, positions[index]);
  DataOptions other = options;
  other.seed = 6;
  EXPECT_NE(sample(DataSource(other), 16, 0).at.position, positions[0]);
  EXPECT_EQ(std::set(positions.begin(), positions.end()).size(), positions.size());
}

TEST(DataSource, StartsAreUniform) {
  const TemporaryDirectory directory;
  const DataSource source(
      {.files = {directory.write("a", std::string(1009, 'x'))}, .vocab = 256, .seq_len = 9});
  std::array<double, 10> counts{};
  constexpr int kSamples = 100'000;
  for (std::uint64_t index = 0; index < kSamples; ++index)
    ++counts[sample(source, 9, index).at.position / 100];
  double chi_squared = 0;
  for (const double count : counts) chi_squared += (count - 1e4) * (count - 1e4) / 1e4;
  EXPECT_LT(chi_squared, 33.7);  // 9 degrees of freedom: exceeded once in 10,000 seeds
}

TEST(DataSource, EvaluationWindowsCoverEveryTargetOnce) {
  const TemporaryDirectory directory;
  const DataSource source(
      {.files = {directory.write("a", "0123456789a")}, .vocab = 256, .seq_len = 3});
  ASSERT_EQ(source.window_count(), 3U);
  std::string targets;
  for (std::uint64_t i = 0; i < source.window_count(); ++i) {
    for (const std::uint32_t id : window(source, 3, i).targets) targets += static_cast<char>(id);
  }
  EXPECT_EQ(targets, "123456789");
  EXPECT_THROW(window(source, 3, 3), ContractViolation);
}

TEST(DataSource, AWindowThatEndsWithTheFileIsThere) {
  const TemporaryDirectory directory;
  const auto file = directory.write("a", "0123456");
  EXPECT_EQ(DataSource({.files = {file}, .vocab = 256, .seq_len = 3}).window_count(), 2U);
  EXPECT_EQ(DataSource({.files = {file}, .vocab = 256, .seq_len = 4}).window_count(), 1U);
  EXPECT_EQ(DataSource({.files = {file}, .vocab = 256, .seq_len = 6}).window_count(), 1U);
}

TEST(DataSource, HeaderlessFilesTakeTheTypeThatIsGiven) {
  const TemporaryDirectory directory;
  const std::vector<std::uint32_t> ids{1, 2, 3, 4};
  const auto file = directory.write("a.bin", bytes_of(ids));
  DataOptions options{.files = {file}, .vocab = 256, .seq_len = 3};
  expect_names(refusal(options, Errc::kBadUsage), {"a.bin", "uint16", "uint32"});
  options.headerless_type = TokenType::kUint32;
  EXPECT_EQ(sample(DataSource(options), 3, 0).targets, (std::vector<std::uint32_t>{2, 3, 4}));
  options.headerless_type = TokenType::kUint16;
  EXPECT_EQ(DataSource(options).token_count(), 8U);
}

TEST(DataSource, LlmcHeadersAreRead) {
  const TemporaryDirectory directory;
  std::vector<std::int32_t> header(256, 0);
  header[0] = 20240520;
  header[1] = 1;
  header[2] = 3;
  const auto two = directory.write("2.bin", bytes_of(header) + bytes_of<std::uint16_t>({7, 8, 9}));
  header[0] = 20240801;
  header[1] = 7;
  const auto four = directory.write("4.bin", bytes_of(header) + bytes_of<std::uint32_t>({7, 8, 9}));
  for (const auto& file : {two, four}) {
    const DataSource source({.files = {file}, .vocab = 10, .seq_len = 2});
    EXPECT_EQ(sample(source, 2, 0).targets, (std::vector<std::uint32_t>{8, 9}));
  }
}

TEST(DataSource, AHeaderThatDoesNotFitItsFileIsRefused) {
  const TemporaryDirectory directory;
  const std::vector<std::uint16_t> ids{1, 2, 3, 4};
  for (const std::string& bad :
       {make_token_header(2, 5) + bytes_of(ids), make_token_header(2, 3) + bytes_of(ids),
        make_token_header(4, 4) + bytes_of(ids), make_token_header(2, 4) + bytes_of(ids) + "x",
        make_token_header(3, 4) + bytes_of(ids), make_token_header(0, 4) + bytes_of(ids),
        make_token_header(2, (std::uint64_t{1} << 63) + 4) + bytes_of(ids)})
    expect_names(refusal({.files = {directory.write("a.bin", bad)}, .vocab = 256, .seq_len = 2}),
                 {"a.bin", "header"});
  const auto good = directory.write("a.bin", make_token_header(2, 4) + bytes_of(ids));
  expect_names(
      refusal({.files = {good}, .headerless_type = TokenType::kUint32, .vocab = 256, .seq_len = 2}),
      {"uint16", "uint32"});
}

TEST(DataSource, HalfATokenIsRefused) {
  const TemporaryDirectory directory;
  expect_names(refusal({.files = {directory.write("a.bin", "12345")},
                        .headerless_type = TokenType::kUint16,
                        .vocab = 65536,
                        .seq_len = 1}),
               {"a.bin", "5 bytes"});
}

TEST(DataSource, WhatCannotBeReadIsRefusedNamingTheFile) {
  const TemporaryDirectory directory;
  const auto good = directory.write("good", "0123456789");
  const auto with = [&](const std::filesystem::path& bad) {
    return refusal({.files = {good, bad}, .vocab = 256, .seq_len = 4});
  };
  expect_names(with(directory.path() / "absent.txt"), {"absent.txt", "No such file"});
  expect_names(with(directory.path()), {directory.path().string(), "directory"});
  expect_names(with(directory.write("empty", "")), {"empty", "needs 5 tokens"});
  expect_names(with(directory.write("e.bin", "")), {"e.bin", "needs 5 tokens"});
  const auto fifo = directory.path() / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  expect_names(with(fifo), {"fifo", "regular"});
  const auto secret = directory.write("secret", "0123456789");
  std::filesystem::permissions(secret, std::filesystem::perms::none);
  if (geteuid() != 0) expect_names(with(secret), {"secret", "denied"});
  expect_names(refusal({.vocab = 256, .seq_len = 4}), {"no data file"});
}

// FAULTS K5, nanochat#371.
TEST(DataSource, DataShorterThanOneSequenceIsRefusedWithBothNumbers) {
  const TemporaryDirectory directory;
  const auto file = directory.write("short.txt", "01234567");
  expect_names(refusal({.files = {file}, .vocab = 256, .seq_len = 8}),
               {"short.txt", "8 tokens", "needs 9"});
  EXPECT_NO_THROW(DataSource({.files = {file}, .vocab = 256, .seq_len = 7}));
}

// FAULTS K4.
TEST(DataSource, AnIdOutsideTheVocabularyIsRefusedWhereverItIs) {
  const TemporaryDirectory directory;
  constexpr std::uint32_t kVocab = 1000;  // padded to 1024 in the model: 1000 is in the padding
  for (const std::uint32_t bad : {1000U, 1023U, 65535U, ~0U, 0x80000000U}) {
    for (const std::size_t at : {0U, 77U, 199'999U}) {
      std::vector<std::uint32_t> ids(200'000, kVocab - 1);
      ids[at] = bad;
      const auto file = directory.write("ids.bin", with_header(ids));
      expect_names(refusal({.files = {file}, .vocab = kVocab, .seq_len = 64}),
                   {"ids.bin", fmt::format("token {} ", at), fmt::format("id {};", bad), "1000"});
    }
  }
}

TEST(DataSource, TheLastIdOfTheVocabularyIsGood) {
  const TemporaryDirectory directory;
  const auto file = directory.write("ids.bin", with_header<std::uint16_t>({999, 0, 999}));
  EXPECT_EQ(sample(DataSource({.files = {file}, .vocab = 1000, .seq_len = 2}), 2, 0).tokens,
            (std::vector<std::uint32_t>{999, 0}));
}

TEST(DataSource, ABytePastASmallVocabularyIsRefused) {
  const TemporaryDirectory directory;
  const auto file = directory.write("utf8.txt", "caf\xc3\xa9");
  expect_names(refusal({.files = {file}, .vocab = 128, .seq_len = 2}),
               {"utf8.txt", "token 3", "id 195", "128"});
}

// FAULTS C4: the data of its test.
TEST(DataSource, MaskedTargetsAreIgnoredTargetsOnlyWhereAllowed) {
  const TemporaryDirectory directory;
  const auto file =
      directory.write("m.bin", with_header<std::uint32_t>({5, kIgnoredTarget, 7, kIgnoredTarget}));
  DataOptions options{.files = {file}, .vocab = 10, .seq_len = 3};
  expect_names(refusal(options), {"token 1", "4294967295"});
  options.masked = MaskedTargets::kAllow;
  const Window w = sample(DataSource(options), 3, 0);
  EXPECT_EQ(w.targets, (std::vector<std::uint32_t>{kIgnoredTarget, 7, kIgnoredTarget}));
  EXPECT_EQ(w.tokens, (std::vector<std::uint32_t>{5, kMaskedInput, 7}));
}

// A sparse file: `count` zero tokens of 4 bytes.
std::filesystem::path sparse_file(const TemporaryDirectory& directory, std::uint64_t count) {
  const auto file = directory.write("sparse.bin", make_token_header(4, count));
  std::filesystem::resize_file(file, 24 + 4 * count);
  return file;
}
void mark(const std::filesystem::path& file, std::uint64_t token,
          const std::vector<std::uint32_t>& ids) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(static_cast<std::streamoff>(24 + 4 * token));
  stream << bytes_of(ids);
}

// FAULTS K5: offsets past 2 GiB and 4 GiB were cast to int.
TEST(DataSource, TokensPast4GiBAreRead) {
  const TemporaryDirectory directory;
  constexpr std::uint64_t kTokens = (std::uint64_t{5} << 30) / 4;
  const auto file = sparse_file(directory, kTokens);
  const DataOptions options{.files = {file}, .vocab = 100, .seq_len = 4};
  const DataSource source(options);
  EXPECT_EQ(source.token_count(), kTokens);
  for (const std::uint64_t gib : {2, 3, 4}) {
    // The first micro-step that starts past so many GiB, and the evaluation window there.
    const std::uint64_t least = (gib << 30) / 4;
    std::uint64_t index = 0;
    while (sample(source, 4, index).at.offset < least) ++index;
    const std::uint64_t at = sample(source, 4, index).at.offset;
    mark(file, at, {11, 12, 13, 14, 15});
    EXPECT_EQ(sample(source, 4, index).tokens, (std::vector<std::uint32_t>{11, 12, 13, 14}));
    EXPECT_EQ(sample(source, 4, index).targets, (std::vector<std::uint32_t>{12, 13, 14, 15}));
    mark(file, least, {21, 22, 23, 24, 25});
    EXPECT_EQ(window(source, 4, least / 4).tokens, (std::vector<std::uint32_t>{21, 22, 23, 24}));
  }
}

// Files too long to be checked whole are checked where they are read.
TEST(DataSource, ABadIdOfALongFileIsRefusedWhenItIsRead) {
  const TemporaryDirectory directory;
  constexpr std::uint64_t kTokens = (std::uint64_t{5} << 30) / 4 + 1;
  const auto file = sparse_file(directory, kTokens);
  mark(file, kTokens - 1, {100});
  // The last token is a target of the last window of 4, and of none of 3.
  const DataSource ending({.files = {file}, .vocab = 100, .seq_len = 4});
  const DataSource before({.files = {file}, .vocab = 100, .seq_len = 3});
  EXPECT_EQ(window(before, 3, before.window_count() - 1).targets[2], 0U);
  expect_names(refusal(Errc::kBadData, [&] { window(ending, 4, ending.window_count() - 1); }),
               {"sparse.bin", fmt::format("token {} ", kTokens - 1), "id 100;"});
}

TEST(DataSource, AFileThatShrankIsAnErrorAndNotZeros) {
  const TemporaryDirectory directory;
  const auto file = directory.write("a.txt", std::string(100, 'x'));
  const DataSource source({.files = {file}, .vocab = 256, .seq_len = 99});
  std::filesystem::resize_file(file, 50);
  expect_names(refusal(Errc::kDataFailed, [&] { sample(source, 99, 0); }), {"a.txt", "shrunk"});
}

TEST(TokenFile, ReadsAnyRangeAcrossItsBlocks) {
  const TemporaryDirectory directory;
  std::vector<std::uint16_t> ids(100'000);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::uint16_t>(i * 40503U);
  const TokenFile file(directory.write("a.bin", with_header(ids)), TokenType::kFromHeader);
  for (const std::size_t first : {0U, 1U, 32'767U, 99'999U}) {
    std::vector<std::uint32_t> out(ids.size() - first);
    file.read(first, out);
    EXPECT_TRUE(std::equal(out.begin(), out.end(), ids.begin() + static_cast<long>(first)));
  }
  std::vector<std::uint32_t> past(2);
  EXPECT_THROW(file.read(99'999, past), ContractViolation);
}

}  // namespace
}  // namespace ebbtide::train
