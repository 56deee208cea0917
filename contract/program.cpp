#include "ebbtide/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ebbtide/error.hpp"

namespace ebbtide {
namespace {

template <typename T>
std::uint64_t bytes_of(const std::vector<T>& items) {
  return items.capacity() * sizeof(T);
}

template <typename Id, typename T>
Id append(std::vector<T>& items, T item) {
  EBBTIDE_CHECK(items.size() < std::numeric_limits<Id>::max(), "too many entries");
  items.push_back(std::move(item));
  return static_cast<Id>(items.size() - 1);
}

}  // namespace

Home HomeLayout::add(std::uint64_t size_bytes, Tier tier) {
  EBBTIDE_CHECK(size_bytes > 0, "a home of no bytes");
  std::uint64_t& end = bytes_[index(tier)];
  const Home home{tier, end, size_bytes};
  end += extent(size_bytes, tier);
  return home;
}

KindId Program::add_kind(ValueKind kind) {
  return append<KindId>(kinds_, std::move(kind));
}

KernelId Program::add_kernel(Kernel kernel) {
  return append<KernelId>(kernels_, std::move(kernel));
}

ValueId Program::add_value(Value value) {
  EBBTIDE_CHECK(value.size_bytes > 0, "a value of no bytes");
  EBBTIDE_CHECK(value.kind < kinds_.size(),
                fmt::format("kind {} of {}", value.kind, kinds_.size()));
  EBBTIDE_CHECK(values_.size() < (1U << 29), "too many values");
  return append<ValueId>(values_, value);
}

ValueId Program::add_value(Value value, const Home& home) {
  value.size_bytes = home.size_bytes;
  value.home = append<std::uint32_t>(homes_, home);
  return add_value(value);
}

OpId Program::add_op(KernelId kernel, std::span<const Use> uses, std::span<const std::byte> args,
                     OpCost cost) {
  EBBTIDE_CHECK(kernel < kernels_.size(), fmt::format("kernel {} of {}", kernel, kernels_.size()));
  for (std::size_t i = 0; i < uses.size(); ++i) {
    EBBTIDE_CHECK(uses[i].value < values_.size(),
                  fmt::format("value {} of {}", uint32_t{uses[i].value}, values_.size()));
    for (std::size_t j = 0; j < i; ++j)
      EBBTIDE_CHECK(uses[i].value != uses[j].value,
                    fmt::format("{} is named twice", describe(uses[i].value)));
  }
  if (costs_.empty() || costs_.back() != cost) costs_.push_back(cost);
  // args stay aligned for any plain struct, so that a callback may read them in place
  args_.resize(align_up(args_.size(), alignof(std::max_align_t)));
  const Op op{static_cast<std::uint32_t>(uses_.size()), static_cast<std::uint32_t>(args_.size()),
              static_cast<std::uint32_t>(costs_.size() - 1), kernel,
              static_cast<std::uint16_t>(uses.size())};
  uses_.insert(uses_.end(), uses.begin(), uses.end());
  args_.insert(args_.end(), args.begin(), args.end());
  return append<OpId>(ops_, op);
}

void Program::begin_chunk_step() {
  const auto next = static_cast<OpId>(ops_.size());
  if (chunk_steps_.empty() || chunk_steps_.back() != next) chunk_steps_.push_back(next);
}

std::span<const std::byte> Program::args(OpId id) const {
  const std::size_t begin = ops_[id].args_begin;
  const std::size_t end = id + 1 < ops_.size() ? ops_[id + 1].args_begin : args_.size();
  return {args_.data() + begin, end - begin};
}

std::uint64_t Program::memory_bytes() const {
  return bytes_of(values_) + bytes_of(homes_) + bytes_of(ops_) + bytes_of(uses_) + bytes_of(args_) +
         bytes_of(costs_) + bytes_of(chunk_steps_);
}

std::string Program::describe(ValueId id) const {
  const Value& value = values_[id];
  std::string text = kinds_[value.kind].name;
  if (value.at[0] < 0) return text;
  text += fmt::format(" ({}", value.at[0]);
  if (value.at[1] >= 0) text += fmt::format(", {}", value.at[1]);
  return text + ")";
}

}  // namespace ebbtide
