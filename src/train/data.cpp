#include "src/train/data.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ebbtide/error.hpp"
#include "src/model/random.hpp"

namespace ebbtide::train {
namespace {

constexpr std::uint64_t kStream = model::stream_number("training data");

[[noreturn]] void fail(const std::string& problem) {
  throw Error(Errc::kBadData, problem);
}

// A number below `count`: the high half of the product of a random 64-bit number with it.
std::uint64_t random_below(std::uint64_t seed, std::uint64_t index, std::uint64_t count) {
  const model::PhiloxCounter words = model::random_block(seed, kStream, index);
  const std::uint64_t x = std::uint64_t{words[1]} << 32 | words[0];
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(Wide{x} * count >> 64);
}

}  // namespace

DataSource::DataSource(const DataOptions& options)
    : masked_(options.masked),
      vocab_(static_cast<std::uint64_t>(options.vocab)),
      seq_len_(static_cast<std::uint64_t>(options.seq_len)),
      seed_(options.seed) {
  EBBTIDE_CHECK(options.vocab > 0 && options.seq_len > 0,
                fmt::format("vocab {}, seq_len {}", options.vocab, options.seq_len));
  if (options.files.empty()) fail("no data file was given");
  starts_.push_back(0);
  for (const std::filesystem::path& path : options.files) {
    files_.emplace_back(path, options.headerless_type);
    starts_.push_back(starts_.back() + files_.back().token_count());
  }
  check_size();
  for (const TokenFile& file : files_) {
    if (file.size_bytes() <= kCheckedWholeBytes && may_leave_vocabulary(file)) check_whole(file);
  }
}

void DataSource::check_size() const {
  for (const TokenFile& file : files_) {
    if (file.token_count() == 0)
      fail(fmt::format("data file {}: empty; a sequence of {} needs {} tokens", file.path(),
                       seq_len_, seq_len_ + 1));
  }
  if (token_count() > seq_len_) return;
  fail(fmt::format("data file {}{}: {} tokens; a sequence of {} needs {}", files_[0].path(),
                   files_.size() == 1 ? "" : fmt::format(" and {} more", files_.size() - 1),
                   token_count(), seq_len_, seq_len_ + 1));
}

bool DataSource::may_leave_vocabulary(const TokenFile& file) const {
  return file.largest_id() >= vocab_;
}

void DataSource::check_whole(const TokenFile& file) const {
  std::vector<std::uint32_t> ids(1 << 16);
  for (std::uint64_t first = 0; first < file.token_count(); first += ids.size()) {
    const std::span<std::uint32_t> part =
        std::span(ids).first(std::min<std::uint64_t>(ids.size(), file.token_count() - first));
    file.read(first, part);
    check_ids(file, first, part);
  }
}

void DataSource::check_ids(const TokenFile& file, std::uint64_t first,
                           std::span<const std::uint32_t> ids) const {
  const auto bad = [this](std::uint32_t id) {
    return id >= vocab_ && !(id == kIgnoredTarget && masked_ == MaskedTargets::kAllow);
  };
  const auto at = std::ranges::find_if(ids, bad);
  if (at == ids.end()) return;
  fail(fmt::format("data file {}: token {} has id {}; the vocabulary has {} (ids 0 to {})",
                   file.path(), first + static_cast<std::uint64_t>(at - ids.begin()), *at, vocab_,
                   vocab_ - 1));
}

Sample DataSource::locate(std::uint64_t position) const {
  const auto after = std::ranges::upper_bound(starts_, position);
  const auto file = static_cast<std::size_t>(after - starts_.begin()) - 1;
  return {file, position - starts_[file], position};
}

void DataSource::read_checked(std::uint64_t position, std::span<std::uint32_t> ids) const {
  while (!ids.empty()) {
    const Sample at = locate(position);
    const TokenFile& file = files_[at.file];
    const std::span<std::uint32_t> part =
        ids.first(std::min<std::uint64_t>(ids.size(), file.token_count() - at.offset));
    file.read(at.offset, part);
    if (may_leave_vocabulary(file)) check_ids(file, at.offset, part);
    ids = ids.subspan(part.size());
    position += part.size();
  }
}

void DataSource::fill(std::uint64_t position, std::span<std::uint32_t> tokens,
                      std::span<std::uint32_t> targets) const {
  EBBTIDE_CHECK(tokens.size() == seq_len_ && targets.size() == seq_len_,
                fmt::format("{} tokens and {} targets of a sequence of {}", tokens.size(),
                            targets.size(), seq_len_));
  read_checked(position, tokens.first(1));
  read_checked(position + 1, targets);
  std::ranges::copy(targets.first(seq_len_ - 1), tokens.begin() + 1);
  if (masked_ == MaskedTargets::kAllow) std::ranges::replace(tokens, kIgnoredTarget, kMaskedInput);
}

Sample DataSource::sample(std::uint64_t index, std::span<std::uint32_t> tokens,
                          std::span<std::uint32_t> targets) const {
  const std::uint64_t position = random_below(seed_, index, token_count() - seq_len_);
  fill(position, tokens, targets);
  return locate(position);
}

std::uint64_t DataSource::window_count() const {
  return (token_count() - 1) / seq_len_;
}

Sample DataSource::window(std::uint64_t index, std::span<std::uint32_t> tokens,
                          std::span<std::uint32_t> targets) const {
  EBBTIDE_CHECK(index < window_count(), fmt::format("window {} of {}", index, window_count()));
  fill(index * seq_len_, tokens, targets);
  return locate(index * seq_len_);
}

}  // namespace ebbtide::train
