#include "src/report/step_log.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "ebbtide/error.hpp"

namespace ebbtide::report {
namespace {

std::string exposed_object(const PerLane<double>& seconds) {
  std::string text = "{";
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    if (static_cast<Lane>(lane) == Lane::kCompute) continue;  // compute does not wait for itself
    text += fmt::format("{}\"{}\":{}", text.size() > 1 ? "," : "", name(static_cast<Lane>(lane)),
                        seconds[lane]);
  }
  return text + "}";
}

[[noreturn]] void fail(const std::filesystem::path& path, const char* operation) {
  throw Error(std::error_code(errno, std::system_category()),
              {.operation = operation, .path = path.string()});
}

}  // namespace

std::string json_line(const StepReport& report) {
  std::string line = fmt::format(
      R"({{"step":{},"loss":{},"grad_norm":{},"learning_rate":{},"tokens":{},"step_seconds":{},)"
      R"("tokens_per_second":{},"exposed_seconds":{},"device_peak_bytes":{},"host_peak_bytes":{},)"
      R"("nvme_peak_bytes":{},"nvme_bytes_written":{},"nvme_bytes_read":{},)"
      R"("loads":{},"loads_in_time":{})",
      report.step, report.loss, report.grad_norm, report.learning_rate, report.tokens,
      report.step_seconds, report.tokens_per_second(), exposed_object(report.exposed_seconds),
      report.peak_bytes[index(Tier::kDevice)], report.peak_bytes[index(Tier::kHost)],
      report.peak_bytes[index(Tier::kNvme)], report.nvme_bytes_written, report.nvme_bytes_read,
      report.loads.all, report.loads.in_time);
  if (report.weights_xxh3)
    line += fmt::format(R"(,"weights_xxh3":"{:016x}")", *report.weights_xxh3);
  return line + "}";
}

StepLog::StepLog(const std::filesystem::path& path, LogStart start)
    : path_(path), file_(std::fopen(path.c_str(), start == LogStart::kNew ? "we" : "ae")) {
  if (!file_) fail(path_, "open the log");
}

void StepLog::write(const StepReport& report) {
  const std::string line = json_line(report) + "\n";
  const bool written = std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size();
  if (!written || std::fflush(file_.get()) != 0) fail(path_, "write the log");
}

}  // namespace ebbtide::report
