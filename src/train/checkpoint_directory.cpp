#include "src/train/checkpoint_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <optional>
#include <system_error>

#include "ebbtide/error.hpp"

namespace ebbtide::train {
namespace {

namespace fs = std::filesystem;

constexpr char kLatest[] = "latest";

[[noreturn]] void fail(const char* operation, const fs::path& path, std::error_code code) {
  throw Error(code, {.operation = operation, .path = path.string()});
}
[[noreturn]] void fail(const char* operation, const fs::path& path) {
  fail(operation, path, std::error_code(errno, std::system_category()));
}

void synchronise(const fs::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("open for synchronising", path);
  const int failed = fsync(descriptor);
  const int error = errno;
  close(descriptor);
  if (failed != 0) fail("synchronise", path, std::error_code(error, std::system_category()));
}

// Everything below `path`, files before the directories that hold them.
void synchronise_tree(const fs::path& path) {
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (entry.is_directory())
      synchronise_tree(entry.path());
    else
      synchronise(entry.path());
  }
  synchronise(path);
}

void remove_tree(const fs::path& path) {
  std::error_code code;
  fs::remove_all(path, code);
  if (code) fail("remove", path, code);
}

std::optional<std::int64_t> step_of(const std::string& name) {
  constexpr std::string_view kPrefix = "step-";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::int64_t step = 0;
  const char* const end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + kPrefix.size(), end, step);
  if (error != std::errc() || at != end || name != fmt::format("step-{:08}", step))
    return std::nullopt;
  return step;
}

bool is_partial_of_ours(const std::string& name) {
  constexpr std::string_view kSuffix = ".partial";
  return name.starts_with('.') && name.ends_with(kSuffix) &&
         step_of(name.substr(1, name.size() - 1 - kSuffix.size())).has_value();
}

bool is_link_of_ours(const fs::path& name) {
  std::error_code none;
  const fs::path target = fs::read_symlink(name, none);
  if (none) return false;
  if (name.filename() == kLatest) return step_of(target.string()).has_value();
  return target == fs::path(kLatest) / name.filename();
}

bool may_become_link(const fs::path& name) {
  std::error_code none;
  return !fs::exists(fs::symlink_status(name, none)) || is_link_of_ours(name);
}

}  // namespace

void check_takes_checkpoints(const fs::path& path) {
  for (const char* entry : {"config.json", "model.safetensors", kStateDirectory, kLatest}) {
    if (may_become_link(path / entry)) continue;
    throw Error(Errc::kBadUsage,
                fmt::format("{}: holds {} already, which no directory of checkpoints has there; "
                            "name an empty or a new directory",
                            path.string(), entry));
  }
}

CheckpointDirectory::CheckpointDirectory(fs::path path) : path_(std::move(path)) {
  std::error_code code;
  fs::create_directories(path_, code);
  if (code) fail("make the checkpoint directory", path_, code);
  if (access(path_.c_str(), W_OK | X_OK) != 0) fail("write checkpoints", path_);
}

fs::path CheckpointDirectory::final_path(std::int64_t step) const {
  return path_ / fmt::format("step-{:08}", step);
}

fs::path CheckpointDirectory::partial_path(std::int64_t step) const {
  return path_ / fmt::format(".step-{:08}.partial", step);
}

void CheckpointDirectory::claim() {
  lock_.emplace(path_, [this] { remove_leftovers(); });
}

void CheckpointDirectory::remove_leftovers() const {
  std::vector<fs::path> leftovers;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
    if (is_partial_of_ours(entry.path().filename().string())) leftovers.push_back(entry.path());
  }
  for (const fs::path& leftover : leftovers) remove_tree(leftover);
}

fs::path CheckpointDirectory::begin(std::int64_t step) {
  const fs::path partial = partial_path(step);
  remove_tree(partial);
  std::error_code code;
  fs::create_directory(partial, code);
  if (code) fail("make a checkpoint", partial, code);
  return partial;
}

void CheckpointDirectory::commit(std::int64_t step) {
  const fs::path partial = partial_path(step);
  const fs::path final = final_path(step);
  synchronise_tree(partial);
  // Over a checkpoint of the same step the two names are exchanged, so that one is always there.
  const unsigned int flags = fs::exists(final) ? RENAME_EXCHANGE : 0U;
  if (renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, final.c_str(), flags) != 0)
    fail("publish the checkpoint", final);
  synchronise(path_);
  link_latest(step);
  remove_tree(partial);
}

void CheckpointDirectory::discard(std::int64_t step) noexcept {
  std::error_code ignored;
  fs::remove_all(partial_path(step), ignored);
}

void CheckpointDirectory::link_latest(std::int64_t step) {
  replace_link(final_path(step).filename(), path_ / kLatest);
  for (const fs::directory_entry& entry : fs::directory_iterator(final_path(step))) {
    const fs::path name = entry.path().filename();
    replace_link(fs::path(kLatest) / name, path_ / name);
  }
  synchronise(path_);
}

// A link under a hidden name, renamed over the old one: there is no moment without a link.
void CheckpointDirectory::replace_link(const fs::path& target, const fs::path& name) {
  const fs::path hidden = name.parent_path() / fmt::format(".{}.link", name.filename().string());
  std::error_code code;
  if (!may_become_link(name))
    fail("link the newest checkpoint over what is no link to one", name,
         std::make_error_code(std::errc::file_exists));
  fs::remove(hidden, code);
  fs::create_symlink(target, hidden, code);
  if (code) fail("link the newest checkpoint", hidden, code);
  fs::rename(hidden, name, code);
  if (code) fail("link the newest checkpoint", name, code);
}

void CheckpointDirectory::prune(std::int64_t keep) {
  if (keep == 0) return;
  std::vector<std::int64_t> old = steps();
  old.resize(old.size() - std::min(old.size(), static_cast<std::size_t>(keep)));
  for (const std::int64_t step : old) {
    // Hidden first, so that a half-removed one is never taken for a checkpoint.
    const fs::path hidden = begin(step);
    if (std::rename(final_path(step).c_str(), hidden.c_str()) != 0)
      fail("remove an old checkpoint", final_path(step));
    remove_tree(hidden);
  }
}

std::vector<std::int64_t> CheckpointDirectory::steps() const {
  std::vector<std::int64_t> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
    const std::optional<std::int64_t> step = step_of(entry.path().filename().string());
    if (step) found.push_back(*step);
  }
  std::sort(found.begin(), found.end());
  return found;
}

fs::path find_checkpoint(const fs::path& path) {
  const auto is_checkpoint = [](const fs::path& directory) {
    return fs::is_directory(directory / kStateDirectory);
  };
  if (!fs::is_directory(path))
    throw Error(Errc::kBadUsage, fmt::format("--resume {}: no such directory", path.string()));
  // Past the links of a directory of checkpoints.
  if (is_checkpoint(path)) return fs::canonical(path / kStateDirectory).parent_path();
  // A run killed before its first links were made still has whole checkpoints.
  const std::vector<std::int64_t> steps = CheckpointDirectory(path).steps();
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const fs::path candidate = path / fmt::format("step-{:08}", *step);
    if (is_checkpoint(candidate)) return candidate;
  }
  throw Error(Errc::kBadUsage, fmt::format("--resume {}: holds no checkpoint", path.string()));
}

}  // namespace ebbtide::train
