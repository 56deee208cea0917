#include "src/plan/chunk_size.hpp"

#include <gtest/gtest.h>

#include "src/hardware/known_machines.hpp"

namespace ebbtide::plan {
namespace {

Request request_with_chunk(std::int64_t tokens) {
  Request request;
  request.options.model = "llama2-7b";
  request.options.run.seq_len = 8192;
  request.options.run.dtype = DType::kBf16;
  request.options.planning.chunk_tokens = tokens;
  request.options.planning.saved_fraction = 0;
  request.machine = hardware::load_machine("rtx4090");
  return request;
}

// Small chunks read a layer's weights and run small products again and again.
TEST(ChunkSize, TellsOfALargerOneWhereChunksAreTooSmall) {
  const Request request = request_with_chunk(256);
  const PlannedRun run = plan_run(request);
  ASSERT_TRUE(run.fits()) << run.why_not;
  const std::optional<OtherChunk> other = faster_chunk(request, run);
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(other->tokens, 512);
  EXPECT_LT(other->step_seconds, 0.98 * run.step_seconds());
  const PlannedRun with_it = plan_run(request_with_chunk(512));
  EXPECT_NEAR(other->step_seconds, with_it.step_seconds(), 0.02 * other->step_seconds);
}

TEST(ChunkSize, TellsNothingWhereNoneIsFaster) {
  const Request request = request_with_chunk(2048);
  const PlannedRun run = plan_run(request);
  ASSERT_TRUE(run.fits()) << run.why_not;
  EXPECT_FALSE(faster_chunk(request, run).has_value());
}

}  // namespace
}  // namespace ebbtide::plan
