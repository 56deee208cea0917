// FAULTS F7: a tensor past 2 GiB, of which others wrote the end as zeros.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "src/model/safetensors.hpp"
#include "tests/temporary_directory.hpp"

namespace ebbtide::model {
namespace {

constexpr std::uint64_t kBytes = (std::uint64_t{1} << 31) + 4096;

// Elements that differ from all others less than 2^32 elements away.
void number(std::uint64_t offset, std::span<std::byte> out) {
  for (std::size_t i = 0; i < out.size(); i += sizeof(std::uint32_t)) {
    const auto element = static_cast<std::uint32_t>((offset + i) / sizeof(std::uint32_t));
    std::memcpy(out.data() + i, &element, sizeof element);
  }
}

TEST(LargeSafetensors, KeepTheirLastPage) {
  if (!std::getenv("EBBTIDE_NIGHTLY"))
    GTEST_SKIP() << "takes 2 GiB of disk; set EBBTIDE_NIGHTLY=1 to run it";
  const test::TemporaryDirectory directory;
  const auto path = directory / "model.safetensors";
  const auto elements = static_cast<std::int64_t>(kBytes / sizeof(float));
  const std::vector<TensorSpec> tensors{{"large", TensorDType::kF32, {elements}}};
  write_safetensors(path, tensors, {},
                    [](const TensorSpec&, std::uint64_t offset, std::span<std::byte> out) {
                      number(offset, out);
                    });
  EXPECT_GT(std::filesystem::file_size(path), kBytes);
  const SafetensorsFile file(path);
  std::vector<float> read(1024), expected(1024);
  for (const std::uint64_t first :
       {std::uint64_t{0}, std::uint64_t{1} << 29, kBytes / sizeof(float) - read.size()}) {
    file.read_floats("large", first, read);
    number(first * sizeof(float), std::as_writable_bytes(std::span(expected)));
    EXPECT_EQ(std::memcmp(read.data(), expected.data(), 4096), 0) << first;
  }
}

}  // namespace
}  // namespace ebbtide::model
