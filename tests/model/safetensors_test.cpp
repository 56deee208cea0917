#include "src/model/safetensors.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "ebbtide/error.hpp"
#include "tests/temporary_directory.hpp"

namespace ebbtide::model {
namespace {

using test::TemporaryDirectory;

std::string file_text(std::uint64_t header_length, const std::string& rest) {
  const auto length = std::bit_cast<std::array<char, 8>>(header_length);
  return std::string(length.data(), length.size()) + rest;
}
std::string file_text(const std::string& header, std::size_t data_bytes) {
  return file_text(header.size(), header + std::string(data_bytes, '\1'));
}

// Message of the kBadFile that opening gives; empty if it opens.
std::string refusal(const std::filesystem::path& path) {
  try {
    const SafetensorsFile file(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), make_error_code(Errc::kBadFile)) << error.what();
    return error.what();
  }
  return "";
}
std::string refusal_of(const std::string& bytes) {
  const TemporaryDirectory directory;
  return refusal(directory.write("model.safetensors", bytes));
}

void expect_refused(const std::string& header, std::size_t data_bytes,
                    std::initializer_list<const char*> named) {
  const std::string message = refusal_of(file_text(header, data_bytes));
  EXPECT_NE(message, "") << header;
  for (const char* text : named)
    EXPECT_NE(message.find(text), std::string::npos) << text << " is not in: " << message;
}

// FAULTS K1.
TEST(SafetensorsHeader, ALengthThatCannotBeIsRefused) {
  constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
  const std::string header = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})";
  const std::uint64_t size = 8 + header.size() + 4;
  for (const std::uint64_t length :
       {~std::uint64_t{0}, ~std::uint64_t{0} - 4, ~std::uint64_t{0} - 7, kTop, kTop - 1, size - 7,
        size, kMaxHeaderBytes + 1}) {
    const std::string message = refusal_of(file_text(length, header + "1234"));
    EXPECT_NE(message.find(fmt::format("a header of {} bytes", length)), std::string::npos)
        << message;
  }
  for (const std::uint64_t length : {0U, 1U})
    EXPECT_NE(refusal_of(file_text(length, header + "1234")), "") << length;
  EXPECT_EQ(refusal_of(file_text(header.size(), header + "1234")), "");
}

TEST(SafetensorsHeader, OneLongerThan100MBIsRefusedThoughTheFileHasIt) {
  const TemporaryDirectory directory;
  const auto path = directory.write("long", file_text(kMaxHeaderBytes + 1, "{"));
  std::filesystem::resize_file(path, 2 * kMaxHeaderBytes);
  EXPECT_NE(refusal(path).find("a header of 100000001 bytes"), std::string::npos);
}

TEST(SafetensorsHeader, AFileTooShortForALengthIsRefused) {
  for (const std::size_t size : {0U, 1U, 7U, 8U})
    EXPECT_NE(refusal_of(std::string(size, '\0')), "") << size;
}

TEST(SafetensorsHeader, WhatIsNoJsonObjectOfTensorsIsRefused) {
  for (const char* header : {"",
                             " ",
                             "x",
                             "{",
                             "[]",
                             "null",
                             "7",
                             "\"a\"",
                             "{}x",
                             "{}{}",
                             "{\"a\":1}",
                             "{\"a\":[]}",
                             "{\"a\":null}",
                             "{\"a\":\"F32\"}",
                             "{\"a\":{}}",
                             "{\"__metadata__\":{\"a\":1}}",
                             "{\"__metadata__\":[]}",
                             "{\"__metadata__\":{\"a\":{}}}",
                             R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"more":1}})",
                             R"({"a":{"dtype":1,"shape":[0],"data_offsets":[0,0]}})",
                             R"({"a":{"dtype":["U8"],"shape":[0],"data_offsets":[0,0]}})",
                             R"({"a":{"dtype":"U9","shape":[0],"data_offsets":[0,0]}})",
                             R"({"a":{"dtype":"F32","shape":0,"data_offsets":[0,0]}})",
                             R"({"a":{"dtype":"F32","shape":[[0]],"data_offsets":[0,0]}})",
                             R"({"a":{"dtype":"F32","shape":["0"],"data_offsets":[0,0]}})",
                             R"({"a":{"dtype":"F32","shape":[0.0],"data_offsets":[0,0]}})",
                             R"({"a":{"dtype":"F32","shape":[1e2],"data_offsets":[0,0]}})",
                             R"({"a":{"dtype":"F32","shape":[0],"data_offsets":{"0":0}}})",
                             "{\"\xff\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}"})
    EXPECT_NE(refusal_of(file_text(header, 0)), "") << header;
}

TEST(SafetensorsHeader, ATruncationOrAFlippedByteNeverCrashes) {
  const std::string good = file_text(
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4);
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(refusal_of(good.substr(0, length)), "") << length;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char flip : {'\1', '\x20', '\x80'}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      refusal_of(bad);  // whether it opens depends on the byte; it checks the error's kind
    }
  }
}

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t size_pages = 0;
  std::int64_t resident_pages = 0;
  statm >> size_pages >> resident_pages;
  return resident_pages * sysconf(_SC_PAGESIZE);
}

// Bytes by which the resident peak of a child process that tries to open the file, which must be
// refused, is above what it starts with.
std::int64_t growth_in_refusal(const std::filesystem::path& path) {
  const std::int64_t before = resident_bytes();
  const pid_t child = fork();
  if (child == 0) _exit(refusal(path).empty() ? 1 : 0);
  int status = 0;
  rusage usage{};
  EXPECT_EQ(wait4(child, &status, 0, &usage), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << path;
  return std::int64_t{usage.ru_maxrss} * 1024 - before;
}

// FAULTS K1: whatever a bad header says or holds, it takes no memory.
TEST(SafetensorsHeader, ABadHeaderTakesLittleMemory) {
  constexpr std::int64_t kLimit = 32 << 20;  // the process has some 10 MiB itself
  constexpr std::size_t kLong = 90'000'000;
  const TemporaryDirectory directory;
  const auto growth = [&](std::uint64_t length, const std::string& start, char filler) {
    const auto path = directory.write("bad.safetensors", "");
    {
      std::ofstream file(path, std::ios::binary);
      file << file_text(length, start);
      const std::string block(1'000'000, filler);
      for (std::size_t written = 0; written < kLong + 10'000'000; written += block.size())
        file << block;
    }
    return growth_in_refusal(path);
  };
  EXPECT_LT(growth(~std::uint64_t{0}, "{", ' '), kLimit);
  EXPECT_LT(growth(kMaxHeaderBytes + 1, "{", ' '), kLimit);
  EXPECT_LT(growth(kLong, "{", ' '), kLimit);
  EXPECT_LT(growth(kLong, "", '\0'), kLimit);
  EXPECT_LT(growth(kLong, "", '['), kLimit);
  EXPECT_LT(growth(kLong, "{\"a\":", '['), kLimit);
  EXPECT_LT(growth(kLong, "{\"", 'a'), kLimit);
  EXPECT_LT(growth(kLong, "{\"a\":{\"shape\":[", '1'), kLimit);
  EXPECT_LT(growth(kLong, "{\"__metadata__\":{\"a\":\"", 'b'), kLimit);
}

// FAULTS K2.
TEST(SafetensorsRanges, TensorsThatShareBytesAreRefused) {
  expect_refused(R"({"k_proj":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},
                     "v_proj":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})",
                 8, {"k_proj", "v_proj", "overlap"});
  expect_refused(R"({"k_proj":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},
                     "v_proj":{"dtype":"U8","shape":[8],"data_offsets":[7,15]}})",
                 15, {"k_proj", "v_proj", "overlap"});
  expect_refused(R"({"k_proj":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},
                     "empty":{"dtype":"U8","shape":[0],"data_offsets":[4,4]}})",
                 8, {"k_proj", "empty"});
}

TEST(SafetensorsRanges, BytesOfNoTensorAreRefused) {
  expect_refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
                     "b":{"dtype":"U8","shape":[4],"data_offsets":[5,9]}})",
                 9, {"'b'", "no tensor"});
  expect_refused(R"({"b":{"dtype":"U8","shape":[4],"data_offsets":[1,5]}})", 5, {"'b'"});
  expect_refused(R"({"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 5, {"'b'"});
  expect_refused("{}", 1, {"no tensor"});
}

TEST(SafetensorsRanges, OffsetsThatAreNoRangeAreRefused) {
  for (const char* offsets :
       {"[4,0]", "[-4,0]", "[0,-4]", "[4]", "[]", "[0,4,4]", "[0,5]", "[0,18446744073709551615]",
        "[18446744073709551612,0]", "[18446744073709551612,18446744073709551615]",
        "[0,18446744073709551616]", "[0,4.0]", "[0,\"4\"]", "[null,4]", "null", "4"})
    expect_refused(
        fmt::format(R"({{"w":{{"dtype":"U8","shape":[4],"data_offsets":{}}}}})", offsets), 4,
        {"w"});
  expect_refused(R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})", 4, {"ends before"});
  expect_refused(R"({"w":{"dtype":"U8","shape":[4]}})", 4, {"'w'", "data_offsets"});
  expect_refused(R"({"w":{"dtype":"U8","data_offsets":[0,4]}})", 4, {"'w'", "shape"});
  expect_refused(R"({"w":{"shape":[4],"data_offsets":[0,4]}})", 4, {"'w'", "dtype"});
}

TEST(SafetensorsRanges, ARangeThatIsNotShapeTimesDtypeIsRefused) {
  for (const char* shape : {"[1000,1000]", "[2]", "[0]", "[1,2]", "[4294967296,4294967296]",
                            "[9223372036854775807,2]", "[9223372036854775808]",
                            "[18446744073709551615]", "[4611686018427387905]", "[-1]", "[-1,-1]"})
    expect_refused(
        fmt::format(R"({{"w":{{"dtype":"F32","shape":{},"data_offsets":[0,4]}}}})", shape), 4,
        {"w"});
  expect_refused(R"({"w":{"dtype":"BF16","shape":[1],"data_offsets":[0,4]}})", 4, {"w"});
}

TEST(SafetensorsRanges, AFileShorterThanItsHeaderSaysIsRefused) {
  expect_refused(R"({"a":{"dtype":"F32","shape":[1024],"data_offsets":[0,4096]}})", 4095, {"'a'"});
}

TEST(SafetensorsRanges, KeysThatAreThereTwiceAreRefused) {
  expect_refused(R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
                     "w":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
                 8, {"'w'", "twice"});
  expect_refused(R"({"w":{"dtype":"U8","dtype":"I8","shape":[4],"data_offsets":[0,4]}})", 4,
                 {"'w'", "dtype", "twice"});
  expect_refused(R"({"__metadata__":{"a":"1","a":"2"}})", 0, {"'a'", "twice"});
  expect_refused(R"({"__metadata__":{},"__metadata__":{}})", 0, {"twice"});
}

TEST(SafetensorsRanges, WhatIsUnusualButRightLoads) {
  const TemporaryDirectory directory;
  const SafetensorsFile file(
      directory.write("a", file_text(R"({"late":{"data_offsets":[2,6],"shape":[],"dtype":"F32"},
                         "__metadata__":{},
                         "none":{"dtype":"F32","shape":[0],"data_offsets":[6,6]},
                         "wide":{"dtype":"F32","shape":[7,0,9],"data_offsets":[0,0]},
                         "early":{"shape":[1,2],"dtype":"U8","data_offsets":[0,2]}}   )",
                                     6)));
  ASSERT_EQ(file.tensors().size(), 4U);
  EXPECT_EQ(file.find("early")->size_bytes, 2U);
  EXPECT_EQ(file.find("late")->count(), 1U);
  EXPECT_EQ(file.find("none")->count(), 0U);
  EXPECT_EQ(file.find("absent"), nullptr);
  EXPECT_EQ(refusal_of(file_text("{}", 0)), "");
}

TEST(SafetensorsFile, RefusesWhatIsNoFile) {
  const TemporaryDirectory directory;
  EXPECT_NE(refusal(directory.path()), "");
  const std::filesystem::path fifo = directory.path() / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_NE(refusal(fifo), "");
  try {
    const SafetensorsFile file(directory.path() / "absent");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
  }
}

// Tensors whose element i of tensor t is a number that tells both.
struct Written {
  TemporaryDirectory directory;
  std::filesystem::path path = directory.path() / "model.safetensors";
  std::vector<TensorSpec> specs{{"a", TensorDType::kF32, {3, 700'001}},  // over one block
                                {"nothing", TensorDType::kF32, {0, 4}},
                                {"b", TensorDType::kBf16, {5}},
                                {"scalar", TensorDType::kF32, {}},
                                {"half", TensorDType::kF16, {2}},
                                {"wei\"rd \xC3\xA9\n", TensorDType::kI64, {2, 2}}};

  static std::byte value(const TensorSpec& tensor, std::uint64_t at) {
    return static_cast<std::byte>((at * 2654435761U >> 7) + tensor.name.size() +
                                  tensor.shape.size());
  }
  Written() {
    write_safetensors(path, specs, {{"format", "pt"}},
                      [](const TensorSpec& tensor, std::uint64_t offset, std::span<std::byte> out) {
                        for (std::size_t i = 0; i < out.size(); ++i)
                          out[i] = value(tensor, offset + i);
                      });
  }
};

TEST(SafetensorsWriter, WhatIsWrittenReadsBackInBlocksOfAnySize) {
  const Written written;
  const SafetensorsFile file(written.path);
  EXPECT_EQ(file.metadata(), (TensorMetadata{{"format", "pt"}}));
  EXPECT_EQ(file.tensors()[0].offset_bytes % 8, 0U);
  for (const TensorSpec& spec : written.specs) {
    const TensorInfo* tensor = file.find(spec.name);
    ASSERT_NE(tensor, nullptr) << spec.name;
    EXPECT_EQ(tensor->dtype, spec.dtype);
    EXPECT_EQ(tensor->shape, spec.shape);
    std::vector<std::byte> bytes(tensor->size_bytes);
    const std::size_t step = std::max<std::size_t>(1, bytes.size() / 7);
    for (std::size_t at = 0; at < bytes.size(); at += step)
      file.read(spec.name, at, std::span(bytes).subspan(at, std::min(step, bytes.size() - at)));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      ASSERT_EQ(bytes[i], Written::value(spec, i)) << spec.name << " at " << i;
  }
}

TEST(SafetensorsWriter, LeavesOnlyTheFile) {
  const Written written;
  const std::filesystem::directory_iterator files(written.directory.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST(SafetensorsWriter, AFailureLeavesTheFormerFileAndNothingElse) {
  const Written written;
  const auto size = std::filesystem::file_size(written.path);
  EXPECT_THROW(write_safetensors(written.path, written.specs, {},
                                 [](const TensorSpec&, std::uint64_t offset, std::span<std::byte>) {
                                   if (offset > 0) throw std::runtime_error("source failed");
                                 }),
               std::runtime_error);
  EXPECT_EQ(std::filesystem::file_size(written.path), size);
  EXPECT_EQ(refusal(written.path), "");
  const std::filesystem::directory_iterator files(written.directory.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST(SafetensorsWriter, RefusesWhatAReaderWouldRefuse) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "bad";
  const std::vector<std::vector<TensorSpec>> bad{
      {{"a", TensorDType::kF32, {1}}, {"a", TensorDType::kF32, {1}}},
      {{"__metadata__", TensorDType::kF32, {1}}},
      {{"a", TensorDType::kF32, {-1}}},
      {{"a", TensorDType::kF32, {1L << 32, 1L << 32}}},
      {{"a", TensorDType::kF32, std::vector<std::int64_t>(kMaxRank + 1, 1)}},
      {{"\xff", TensorDType::kF32, {1}}},
      {{std::string(kMaxHeaderBytes, 'x'), TensorDType::kF32, {1}}}};
  for (const std::vector<TensorSpec>& specs : bad) {
    try {
      write_safetensors(path, specs, {}, [](const auto&, auto, auto) {});
      ADD_FAILURE() << specs[0].name.substr(0, 20);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), make_error_code(Errc::kBadUsage)) << error.what();
    }
    EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  }
}

TEST(SafetensorsFile, Bf16AndFp32ReadAsFloatsFromAnyElement) {
  const TemporaryDirectory directory;
  const std::vector<float> numbers{1.0F, -2.5F, 0.0F, 3e38F, -1e-38F, INFINITY, 0.15625F};
  const std::vector<TensorSpec> specs{{"f", TensorDType::kF32, {7}},
                                      {"b", TensorDType::kBf16, {7}}};
  const auto source = [&](const TensorSpec& tensor, std::uint64_t, std::span<std::byte> out) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto bits = std::bit_cast<std::array<std::byte, 4>>(numbers[i]);
      const std::size_t skipped = tensor.dtype == TensorDType::kBf16 ? 2 : 0;
      const std::size_t kept = bits.size() - skipped;
      std::copy_n(bits.begin() + static_cast<std::ptrdiff_t>(skipped), kept,
                  out.begin() + static_cast<std::ptrdiff_t>(i * kept));
    }
  };
  write_safetensors(directory.path() / "m", specs, {}, source);
  const SafetensorsFile file(directory.path() / "m");
  for (std::size_t first = 0; first < numbers.size(); ++first) {
    std::vector<float> out(numbers.size() - first);
    file.read_floats("f", first, out);
    EXPECT_TRUE(std::equal(out.begin(), out.end(), numbers.begin() + static_cast<long>(first)));
    file.read_floats("b", first, out);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto expected = std::bit_cast<std::uint32_t>(numbers[first + i]) & 0xffff0000U;
      EXPECT_EQ(std::bit_cast<std::uint32_t>(out[i]), expected);
    }
  }
}

TEST(SafetensorsFile, OtherDtypesAreListedButNotLoadedAsFloats) {
  const Written written;
  const SafetensorsFile file(written.path);
  EXPECT_EQ(file.find("half")->dtype, TensorDType::kF16);
  std::vector<float> out(2);
  try {
    file.read_floats("half", 0, out);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), make_error_code(Errc::kBadFile));
    EXPECT_NE(std::string(error.what()).find("'half' is F16"), std::string::npos) << error.what();
  }
  EXPECT_THROW(file.read_floats("absent", 0, out), Error);
}

TEST(SafetensorsFile, ARangePastTheTensorBreaksTheContract) {
  const Written written;
  const SafetensorsFile file(written.path);
  std::vector<std::byte> out(8);
  EXPECT_THROW(file.read("b", 3, out), ContractViolation);
  EXPECT_THROW(file.read("b", ~std::uint64_t{0}, out), ContractViolation);
  std::vector<float> floats(3);
  EXPECT_THROW(file.read_floats("b", 3, floats), ContractViolation);
  EXPECT_THROW(file.read_floats("a", std::uint64_t{1} << 62, floats), ContractViolation);
}

TEST(SafetensorsFile, AFileThatShrankIsAnErrorAndNotZeros) {
  const Written written;
  const SafetensorsFile file(written.path);
  std::filesystem::resize_file(written.path, 1000);
  std::vector<std::byte> out(10);
  EXPECT_THROW(file.read("b", 0, out), Error);
}

}  // namespace
}  // namespace ebbtide::model
