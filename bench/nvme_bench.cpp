// How near does the NVMe tier come to fio? Both write and read a preallocated file of one size,
// block size and depth, with O_DIRECT, io_uring and registered buffers, in turn; the median of each
// is compared. The goal is 90 % of fio both ways, after one full pass: the first writes to
// preallocated extents convert them, and are shown apart.
//
// Both get huge pages, or with --huge-pages off neither does: with 4 KiB pages 1 MiB is up to 256
// segments, more than many drives take in one request, and the block layer splits it.

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "src/measure/disk_stream.hpp"
#include "tiering/tiers/host_arena.hpp"
#include "tiering/tiers/swap_files.hpp"

namespace {

using namespace ebbtide;
using namespace ebbtide::tiers;

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kGoalPercent = 90;
// fio's own option needs pages set aside by root; glibc's malloc can ask for transparent ones.
constexpr const char* kMallocInHugePages = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1 ";

struct Settings {
  std::string directory = ".";
  std::uint64_t file_mib = 2048;
  std::uint64_t block_kib = 1024;
  std::uint64_t job_mib = 8;  // what one task of a lane moves
  std::uint32_t depth = 16;
  int rounds = 5;
  HugePages huge_pages = HugePages::kWhereAllowed;
  IoEngine engine = IoEngine::kUring;

  std::uint64_t file_bytes() const { return file_mib << 20; }
  std::uint64_t block_bytes() const { return block_kib << 10; }
  std::uint64_t job_bytes() const { return job_mib << 20; }
};

// One queue over its own swap files; passes move all of the space once.
class Tier {
 public:
  explicit Tier(const Settings& settings)
      : files_({.size_bytes = settings.file_bytes(), .directories = {settings.directory}}),
        arena_({.size_bytes = places(settings) * settings.job_bytes(),
                .huge_pages = settings.huge_pages}) {
    std::mt19937_64 random(1);
    for (std::size_t at = 0; at < arena_.bytes().size(); ++at)
      arena_.bytes()[at] = static_cast<std::byte>(random());
    stream_.emplace(files_, measure::DiskStreamOptions{.engine = settings.engine,
                                                       .job_bytes = settings.job_bytes(),
                                                       .block_bytes = settings.block_bytes(),
                                                       .depth = settings.depth,
                                                       .memory = arena_.bytes()});
    for (const auto& warnings : {files_.warnings(), stream_->warnings()})
      for (const std::string& warning : warnings) fmt::print("note: {}\n", warning);
  }

  // Blocks. Returns bytes a second.
  double pass(IoDirection direction) {
    return stream_->run({.direction = direction, .end = files_.size_bytes()}, {}).bytes_per_s();
  }

 private:
  // Enough that the queue never runs dry while a finished job's memory is handed on.
  static std::uint64_t places(const Settings& settings) {
    return 4 + 2 * settings.depth * settings.block_bytes() / settings.job_bytes();
  }

  SwapFiles files_;
  HostArena arena_;
  std::optional<measure::DiskStream> stream_;
};

// fio on a file of its own, which is gone with this.
class Fio {
 public:
  explicit Fio(const Settings& settings)
      : settings_(settings),
        file_(std::filesystem::path(settings.directory) /
              fmt::format("nvme_bench.{}.fio", ::getpid())) {}
  ~Fio() {
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
  }
  Fio(const Fio&) = delete;
  Fio& operator=(const Fio&) = delete;

  static bool present() { return std::system("fio --version > /dev/null 2>&1") == 0; }

  double pass(IoDirection direction) const {
    const bool reads = direction == IoDirection::kRead;
    const std::string command = fmt::format(
        "{}fio --name=nvme_bench --filename='{}' --size={} --bs={} --iodepth={} --rw={} --direct=1 "
        "--ioengine=io_uring --fixedbufs=1 --registerfiles=1 --fallocate=native --overwrite=0 "
        "--thread --output-format=json",
        settings_.huge_pages == HugePages::kWhereAllowed ? kMallocInHugePages : "", file_.string(),
        settings_.file_bytes(), settings_.block_bytes(), settings_.depth, reads ? "read" : "write");
    const auto job = nlohmann::json::parse(output_of(command)).at("jobs").at(0);
    return job.at(reads ? "read" : "write").at("bw_bytes").get<double>();
  }

 private:
  static std::string output_of(const std::string& command) {
    FILE* const pipe = ::popen(command.c_str(), "r");
    if (!pipe) throw std::runtime_error("cannot start fio");
    std::string text;
    std::array<char, 4096> buffer{};
    while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
      text.append(buffer.data(), got);
    if (::pclose(pipe) != 0) throw std::runtime_error("fio failed: " + text);
    return text;
  }

  const Settings settings_;
  const std::filesystem::path file_;
};

struct Samples {
  std::vector<double> rates;

  double median() const {
    auto sorted = rates;
    std::ranges::sort(sorted);
    const std::size_t middle = sorted.size() / 2;
    return sorted.size() % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
  std::string text() const {
    const auto [least, most] = std::ranges::minmax(rates);
    return fmt::format("{:.0f} [{:.0f} .. {:.0f}]", median() / kMiB, least / kMiB, most / kMiB);
  }
};

// In a round the two take turns in going first, so that neither always meets the other's leftovers.
bool compare(Tier& tier, const Fio& fio, const Settings& settings, IoDirection direction) {
  Samples ours;
  Samples theirs;
  Samples ratios;
  for (int round = 0; round < settings.rounds; ++round) {
    for (int turn = 0; turn < 2; ++turn) {
      if ((round + turn) % 2 == 0) {
        ours.rates.push_back(tier.pass(direction));
      } else {
        theirs.rates.push_back(fio.pass(direction));
      }
    }
    ratios.rates.push_back(ours.rates.back() / theirs.rates.back());
  }
  const double percent = 100 * ratios.median();
  fmt::print("{:<6} {:>26} {:>26} {:>7.1f} %{}\n",
             direction == IoDirection::kRead ? "read" : "write", ours.text(), theirs.text(),
             percent, percent < kGoalPercent ? "  below the goal" : "");
  return percent >= kGoalPercent;
}

int run(const Settings& settings) {
  if (!Fio::present()) {
    fmt::print("fio is not installed: nothing to compare with\n");
    return 77;
  }
  fmt::print("file {} MiB, blocks of {} KiB, depth {}, {} rounds, in {}\n", settings.file_mib,
             settings.block_kib, settings.depth, settings.rounds, settings.directory);
  Tier tier(settings);
  const Fio fio(settings);
  const double our_first = tier.pass(IoDirection::kWrite);
  const double their_first = fio.pass(IoDirection::kWrite);
  fmt::print("{:<6} {:>26} {:>26} {:>9}\n", "MiB/s", "ebbtide [least .. most]",
             "fio [least .. most]", "of fio");
  fmt::print("{:<6} {:>26.0f} {:>26.0f} {:>7.1f} %\n", "first", our_first / kMiB,
             their_first / kMiB, 100 * our_first / their_first);
  const bool writes = compare(tier, fio, settings, IoDirection::kWrite);
  const bool reads = compare(tier, fio, settings, IoDirection::kRead);
  fmt::print("goal: {} % of fio, median of the rounds' ratios\n", kGoalPercent);
  return writes && reads ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app("The NVMe tier against fio.");
  app.add_option("--directory", settings.directory, "on the drive to measure")
      ->capture_default_str();
  app.add_option("--file-mib", settings.file_mib, "size of each file")->capture_default_str();
  app.add_option("--block-kib", settings.block_kib, "block size")->capture_default_str();
  app.add_option("--job-mib", settings.job_mib, "bytes of one task")->capture_default_str();
  app.add_option("--depth", settings.depth, "queue depth")->capture_default_str();
  app.add_option("--rounds", settings.rounds, "pairs of passes")->capture_default_str();
  app.add_option("--huge-pages", settings.huge_pages, "on or off, for both")
      ->transform(CLI::CheckedTransformer(std::map<std::string, HugePages>{
          {"on", HugePages::kWhereAllowed}, {"off", HugePages::kNever}}));
  app.add_option("--engine", settings.engine, "uring or threads")
      ->transform(CLI::CheckedTransformer(std::map<std::string, IoEngine>{
          {"uring", IoEngine::kUring}, {"threads", IoEngine::kThreads}}));
  CLI11_PARSE(app, argc, argv);
  try {
    return run(settings);
  } catch (const std::exception& error) {
    fmt::print(stderr, "nvme_bench: {}\n", error.what());
    return 1;
  }
}
