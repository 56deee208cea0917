#include "src/train/model_state.hpp"

#include <fmt/format.h>

#define XXH_STATIC_LINKING_ONLY  // the streaming state then has a known size, on the stack
#include <xxhash.h>

#include <algorithm>

#include "ebbtide/error.hpp"

namespace ebbtide::train {
namespace {

// A whole number of pages in every dtype, so that a part of a home on disk is page-aligned.
constexpr std::int64_t kBlockElements = std::int64_t{1} << 20;

}  // namespace

Home part_of(const Home& home, std::uint64_t offset_bytes, std::uint64_t size_bytes) {
  EBBTIDE_CHECK(offset_bytes % kPageAlignment == 0 && offset_bytes + size_bytes <= home.size_bytes,
                fmt::format("bytes {} and {} more of a home of {}", offset_bytes, size_bytes,
                            home.size_bytes));
  return {home.tier, home.address + offset_bytes, size_bytes};
}

ModelState::ModelState(Engine& engine, const model::ModelConfig& config,
                       const model::ModelHomes& homes, DType dtype, kernels::Kernels& kernels)
    : engine_(engine),
      homes_(homes),
      dtype_(dtype),
      kernels_(kernels),
      parameters_(model::parameters(config)),
      block_(kBlockElements),
      rounded_(kBlockElements * sizeof(float)) {
  EBBTIDE_CHECK(
      parameters_.size() == homes.parameters.size(),
      fmt::format("{} parameters, {} homes", parameters_.size(), homes.parameters.size()));
}

void ModelState::write_floats(const Home& home, std::int64_t first, std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  const auto offset = static_cast<std::uint64_t>(first) * sizeof(float);
  engine_.write_home(part_of(home, offset, bytes.size()), bytes);
}

// Rounds as the optimizer does when it writes a weight.
void ModelState::write_rounded(const Home& home, std::int64_t first,
                               std::span<const float> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  const kernels::Tensor rounded{rounded_.data(), dtype_, 1, count};
  kernels_.run(kernels::Cast{{values.data(), DType::kF32, 1, count}, rounded}, nullptr);
  const std::uint64_t element = dtype_bytes(dtype_);
  const auto bytes = std::span(rounded_).first(values.size() * element);
  engine_.write_home(part_of(home, static_cast<std::uint64_t>(first) * element, bytes.size()),
                     bytes);
}

void ModelState::set(HomeOf home, const FloatSource& source) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const std::int64_t count = parameters_[i].count();
    for (std::int64_t first = 0; first < count; first += kBlockElements) {
      const auto size = static_cast<std::size_t>(std::min(kBlockElements, count - first));
      source(parameters_[i], first, std::span(block_).first(size));
      write_floats(homes_.parameters[i].*home, first, std::span(block_).first(size));
      if (home == &model::ParameterHomes::master && has_master())
        write_rounded(homes_.parameters[i].weight, first, std::span(block_).first(size));
    }
  }
}

void ModelState::set_weights(const FloatSource& source) {
  set(&model::ParameterHomes::master, source);
}
void ModelState::set_means(const FloatSource& source) {
  set(&model::ParameterHomes::m, source);
}
void ModelState::set_squares(const FloatSource& source) {
  set(&model::ParameterHomes::v, source);
}

void ModelState::clear_moments() {
  const FloatSource zeros = [](const model::Parameter&, std::int64_t, std::span<float> values) {
    std::fill(values.begin(), values.end(), 0.0F);
  };
  set_means(zeros);
  set_squares(zeros);
}

void ModelState::read(const Home& home, std::uint64_t offset_bytes, std::span<std::byte> out) {
  engine_.read_home(part_of(home, offset_bytes, out.size()), out);
}

std::uint64_t ModelState::weights_xxh3() {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (const model::ParameterHomes& parameter : homes_.parameters) {
    const std::uint64_t size = parameter.weight.size_bytes;
    for (std::uint64_t at = 0; at < size; at += rounded_.size()) {
      const auto bytes = std::span(rounded_).first(std::min(rounded_.size(), size - at));
      read(parameter.weight, at, bytes);
      XXH3_64bits_update(&state, bytes.data(), bytes.size());
    }
  }
  return XXH3_64bits_digest(&state);
}

}  // namespace ebbtide::train
