#include "tests/kernels/operands.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/cpu/element.hpp"

namespace ebbtide::kernels {
namespace {

constexpr std::byte kPoison{0xFF};
constexpr std::byte kGuardByte{0xA5};

std::size_t content_bytes(std::int64_t rows, std::int64_t cols, DType dtype) {
  return static_cast<std::size_t>(rows * cols) * dtype_bytes(dtype);
}

double load(const std::byte* at, DType dtype, std::int64_t i) {
  if (dtype == DType::kF32) return static_cast<double>(reinterpret_cast<const float*>(at)[i]);
  return static_cast<double>(cpu::to_float(reinterpret_cast<const cpu::Bf16*>(at)[i]));
}

void store(std::byte* at, DType dtype, std::int64_t i, double value) {
  const auto narrow = static_cast<float>(value);
  if (dtype == DType::kF32) {
    reinterpret_cast<float*>(at)[i] = narrow;
  } else {
    reinterpret_cast<cpu::Bf16*>(at)[i] = cpu::from_float<cpu::Bf16>(narrow);
  }
}

}  // namespace

Operand::Operand(std::int64_t rows, std::int64_t cols, DType dtype)
    : rows_(rows),
      cols_(cols),
      dtype_(dtype),
      bytes_(content_bytes(rows, cols, dtype) + 2 * kGuard, kGuardByte) {
  std::fill(bytes_.begin() + kGuard, bytes_.end() - kGuard, kPoison);
}

Operand::Operand(const Matrix& content, DType dtype) : Operand(content.rows, content.cols, dtype) {
  for (std::size_t i = 0; i < content.at.size(); ++i) {
    store(bytes_.data() + kGuard, dtype, static_cast<std::int64_t>(i), content.at[i]);
  }
}

Tensor Operand::tensor() {
  return {bytes_.data() + kGuard, dtype_, rows_, cols_};
}

Matrix Operand::read() const {
  Matrix out(rows_, cols_);
  for (std::size_t i = 0; i < out.at.size(); ++i) {
    out.at[i] = load(bytes_.data() + kGuard, dtype_, static_cast<std::int64_t>(i));
  }
  return out;
}

bool Operand::guards_untouched() const {
  const auto untouched = [](std::byte b) { return b == kGuardByte; };
  return std::all_of(bytes_.begin(), bytes_.begin() + kGuard, untouched) &&
         std::all_of(bytes_.end() - kGuard, bytes_.end(), untouched);
}

std::vector<std::byte> Operand::content() const {
  return {bytes_.begin() + kGuard, bytes_.end() - kGuard};
}

std::int64_t Random::between(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
}

std::int64_t Random::one_of(std::initializer_list<std::int64_t> choices) {
  return choices.begin()[between(0, static_cast<std::int64_t>(choices.size()) - 1)];
}

Matrix Random::matrix(std::int64_t rows, std::int64_t cols, DType dtype, double scale) {
  Matrix out(rows, cols);
  for (double& x : out.at) {
    x = scale * (static_cast<double>(engine_() >> 11) * 0x1p-52 - 1);
  }
  return rounded(out, dtype);
}

std::vector<std::uint32_t> Random::ids(std::int64_t count, std::int64_t below) {
  std::vector<std::uint32_t> out(static_cast<std::size_t>(count));
  for (std::uint32_t& id : out) id = static_cast<std::uint32_t>(between(0, below - 1));
  return out;
}

Matrix rounded(const Matrix& a, DType dtype) {
  return Operand(a, dtype).read();
}

Tolerance tolerance(const Matrix& expected, DType stored, double fp32_error) {
  double largest = 0;
  for (const double x : expected.at) largest = std::max(largest, std::abs(x));
  return {fp32_error * largest, stored == DType::kBf16 ? 0x1.02p-8 : fp32_error};
}

void expect_near(const Operand& actual, const Matrix& expected, Tolerance tolerance,
                 const std::string& what) {
  const Matrix got = actual.read();
  ASSERT_EQ(got.at.size(), expected.at.size()) << what;
  for (std::int64_t r = 0; r < expected.rows; ++r) {
    for (std::int64_t c = 0; c < expected.cols; ++c) {
      const double error = std::abs(got(r, c) - expected(r, c));
      const double allowed = tolerance.absolute + tolerance.relative * std::abs(expected(r, c));
      ASSERT_TRUE(error <= allowed) << what << " (" << r << ", " << c << "): " << got(r, c)
                                    << ", expected " << expected(r, c) << ", allowed " << allowed;
    }
  }
}

void Outputs::add(const std::string& what, const Operand& operand) {
  EXPECT_TRUE(operand.guards_untouched()) << what;
  contents.emplace_back(what, operand.content());
}

void Outputs::add(const std::string& what, double value) {
  const auto bytes = std::bit_cast<std::array<std::byte, sizeof value>>(value);
  contents.emplace_back(what, std::vector<std::byte>(bytes.begin(), bytes.end()));
}

void expect_same_on_all_teams(const std::function<Outputs(Kernels&)>& run, Products products) {
  const Outputs alone = run(*make_cpu_kernels({.threads = 1, .products = products}));
  for (int threads = 2; threads <= 4; ++threads) {
    const Outputs shared = run(*make_cpu_kernels({.threads = threads, .products = products}));
    ASSERT_EQ(shared.contents.size(), alone.contents.size());
    for (std::size_t i = 0; i < alone.contents.size(); ++i) {
      EXPECT_TRUE(alone.contents[i] == shared.contents[i])
          << alone.contents[i].first << " with " << threads << " threads";
    }
  }
}

}  // namespace ebbtide::kernels
