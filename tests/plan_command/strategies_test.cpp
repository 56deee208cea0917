// The closed forms against what was published (published_bytes.csv has the source of each row), and
// against each other.
#include "src/plan/strategies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

namespace ebbtide::plan {
namespace {

constexpr double kGibibyte = 1 << 30;

struct PublishedRow {
  std::map<std::string, std::string> cells;

  const std::string& text(const std::string& column) const { return cells.at(column); }
  double number(const std::string& column) const { return std::stod(text(column)); }
};

// Cells may stand between quotes; none holds one.
std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (const char letter : line) {
    if (letter == '"')
      is_quoted = !is_quoted;
    else if (letter == ',' && !is_quoted)
      cells.emplace_back();
    else
      cells.back() += letter;
  }
  return cells;
}

PublishedRow published(const std::string& id) {
  std::ifstream file(EBBTIDE_PUBLISHED_BYTES);
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> columns = split(line);
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = split(line);
    if (cells.front() != id) continue;
    PublishedRow row;
    for (std::size_t i = 0; i < columns.size(); ++i) row.cells[columns[i]] = cells.at(i);
    return row;
  }
  throw std::runtime_error("no row " + id);
}

model::ModelConfig model_of(const PublishedRow& row) {
  static const std::map<std::string, std::string> presets{{"GPT-7B", "gpt-7b"},
                                                          {"Llama-8B", "llama3-8b"},
                                                          {"Llama-3.1-8B", "llama3.1-8b"},
                                                          {"Llama-70B", "llama3-70b"}};
  return model::preset(presets.at(row.text("model")));
}

// Papers print few digits, rounded or cut off.
void expect_as_printed(const PublishedRow& row, double gibibytes) {
  const std::string& printed = row.text("value");
  const auto point = printed.find('.');
  const double digits =
      point == std::string::npos ? 0 : static_cast<double>(printed.size() - point - 1);
  const double unit = std::pow(10.0, -digits);
  EXPECT_GE(gibibytes, row.number("value") - unit / 2) << row.text("id");
  EXPECT_LT(gibibytes, row.number("value") + unit) << row.text("id");
}

double node_bytes(const PublishedRow& row, const StrategyBill& bill) {
  return bill.host_bytes() * std::min(row.number("gpus"), 8.0);
}

TEST(PublishedBytes, OfAllThatALayerKeepsAreExact) {
  for (const char* id : {"7", "18"}) {
    const PublishedRow row = published(id);
    EXPECT_EQ(skeletal_bytes(model_of(row), row.number("seq_tokens"), DType::kBf16),
              row.number("value") * kGibibyte)
        << id;
  }
}

TEST(PublishedBytes, OfTwoRoundingBuffersAreExactAndPastACardOf24) {
  const PublishedRow row = published("8");
  const model::ModelConfig config = model_of(row);
  const StrategyCase of{config, row.number("seq_tokens"), DType::kBf16, row.number("gpus")};
  const StrategyBill bill = rounding_buffers(of);
  const auto buffers = std::ranges::find(bill.amounts, "two rounding buffers", &Amount::name);
  ASSERT_NE(buffers, bill.amounts.end());
  EXPECT_EQ(buffers->device_bytes, row.number("value") * kGibibyte);

  const PublishedRow fit = published("9");
  ASSERT_EQ(fit.text("value"), "OOM");
  const Budgets budgets{
      .device_bytes = static_cast<std::uint64_t>(fit.number("gpu_mem_gb") * kGibibyte),
      .host_bytes = std::uint64_t{256} << 30};  // 2 TiB of a node
  EXPECT_FALSE(bill.fits(budgets));
  EXPECT_GT(buffers->device_bytes, static_cast<double>(budgets.device_bytes));
}

TEST(PublishedBytes, OfLayerInputsAreThosePrinted) {
  const PublishedRow row = published("55");
  expect_as_printed(
      row, layer_input_bytes(model_of(row), row.number("seq_tokens"), DType::kBf16) / kGibibyte);
}

TEST(PublishedBytes, OfLayerInputsOnTheHostAreThosePrintedANode) {
  for (const char* id : {"57", "58", "63"}) {
    const PublishedRow row = published(id);
    const model::ModelConfig config = model_of(row);
    const StrategyBill bill = offloaded_layer_inputs(
        {config, row.number("seq_tokens"), DType::kBf16, row.number("gpus")});
    expect_as_printed(row, node_bytes(row, bill) / kGibibyte);
  }
}

TEST(PublishedBytes, OfLayerInputsDoNotFitAHostThatIsTooSmall) {
  const PublishedRow row = published("63");
  const model::ModelConfig config = model_of(row);
  const StrategyBill bill =
      offloaded_layer_inputs({config, row.number("seq_tokens"), DType::kBf16, row.number("gpus")});
  const auto host = static_cast<std::uint64_t>(row.number("host_mem_gb_per_node") * kGibibyte);
  EXPECT_FALSE(bill.fits({.device_bytes = std::uint64_t{1} << 50, .host_bytes = host}));
  EXPECT_TRUE(bill.fits({.device_bytes = std::uint64_t{1} << 50, .host_bytes = 3 * host}));
}

TEST(LayerTensors, OfALlamaLayerAreThoseOfTheFormula) {
  const model::ModelConfig config = model::preset("llama3-8b");
  const double elements = 6.0 * 4096 + 2.0 * 1024 + 3.0 * 14336;
  EXPECT_EQ(skeletal_bytes(config, 1, DType::kBf16), 2 * elements * 32);
}

// 34 b s h with dropout's two masks; 5 a s / h beside it (Korthikanti et al., equation 1).
TEST(LayerTensors, WithScoresAreThoseOfKorthikanti) {
  const model::ModelConfig config = model::preset("gpt-7b");
  const double s = 2048;
  const double h = 4096;
  const double layer = skeletal_bytes(config, s, DType::kBf16) / 32;
  EXPECT_EQ(layer + 2 * s * h + score_bytes(config, s, DType::kBf16),
            s * h * (34 + 5 * 32 * s / h));
}

TEST(LayerTensors, CountLogitsOfAllTokensInFp32) {
  EXPECT_NEAR(logit_bytes(model::preset("llama3-8b"), 16000) / kGibibyte, 7.65, 0.01);
}

class Strategies : public testing::Test {
 protected:
  StrategyBill named(const std::string& name, double ranks) const {
    const std::vector<StrategyBill> all = strategies({config_, 8192, DType::kBf16, ranks});
    const auto found = std::ranges::find(all, name, &StrategyBill::name);
    if (found == all.end()) throw std::runtime_error("no strategy " + name);
    return *found;
  }
  const model::ModelConfig config_ = model::preset("gpt-7b");
  const double parameters_ = parameter_counts(config_).all;
};

// ZeRO, figure 1.
TEST_F(Strategies, DivideTheStateAsZeroDoes) {
  const auto state = [&](const std::string& name) {
    const StrategyBill bill = named(name, 64);
    return bill.device_bytes(Part::kWeights) + bill.device_bytes(Part::kGradients) +
           bill.device_bytes(Part::kOptimizer);
  };
  EXPECT_DOUBLE_EQ(state("data parallel"), 16 * parameters_);
  EXPECT_DOUBLE_EQ(state("ZeRO-1"), (4 + 12.0 / 64) * parameters_);
  EXPECT_DOUBLE_EQ(state("ZeRO-2"), (2 + 14.0 / 64) * parameters_);
  EXPECT_DOUBLE_EQ(state("ZeRO-3"), 16.0 / 64 * parameters_);
}

// Korthikanti et al., equations 2 and 4, less dropout's masks: s h (8 + 24 / t) and 32 s h / t.
TEST_F(Strategies, DivideActivationsAsTensorAndSequenceParallelismDo) {
  const double lse = 4.0 * 32 * 8192 * 32;
  const double token_layers = 8192.0 * 4096 * 32;
  EXPECT_DOUBLE_EQ(named("tensor parallel", 8).device_bytes(Part::kActivations),
                   token_layers * (8 + 24.0 / 8) + lse / 8);
  EXPECT_DOUBLE_EQ(named("tensor and sequence parallel", 8).device_bytes(Part::kActivations),
                   token_layers * 32 / 8 + lse / 8);
}

TEST_F(Strategies, KeepAsManyLayersInTheFirstStageHoweverManyStages) {
  const double of_two = named("pipeline parallel, first stage", 2).device_bytes(Part::kActivations);
  EXPECT_DOUBLE_EQ(named("pipeline parallel, first stage", 8).device_bytes(Part::kActivations),
                   of_two);
  EXPECT_DOUBLE_EQ(of_two, named("data parallel", 1).device_bytes(Part::kActivations));
}

TEST_F(Strategies, HaveTheStateOnTheHostUnderZeroInfinity) {
  const StrategyBill bill = named("ZeRO-3, state and inputs on the host", 8);
  EXPECT_EQ(bill.device_bytes(Part::kWeights) + bill.device_bytes(Part::kOptimizer), 0);
  EXPECT_DOUBLE_EQ(bill.host_bytes(), 2 * parameters_ + 2.0 * 8192 * 4096 * 32 / 8);
}

TEST_F(Strategies, KeepLayerInputsAndOneLayerUnderFullRecompute) {
  const StrategyBill bill = named("ZeRO-3, full recompute", 1);
  EXPECT_EQ(bill.device_bytes(Part::kActivations), 2.0 * 8192 * 4096 * 32);
  const double two_layers = 2 * 2 * parameter_counts(config_).layer;
  EXPECT_DOUBLE_EQ(bill.device_bytes(Part::kBuffers),
                   two_layers + 32.0 * 8192 * 4096 + 4.0 * 32 * 8192);
}

// Korthikanti et al. 2022, section 5: what is stored is the input, 2 s h / t a layer.
TEST_F(Strategies, KeepASliceOfTheInputsUnderRecomputeWithTensorParallelism) {
  const StrategyBill bill = named("tensor, sequence parallel, recompute", 8);
  EXPECT_EQ(bill.device_bytes(Part::kActivations), 2.0 * 8192 * 4096 * 32 / 8);
  EXPECT_EQ(bill.device_bytes(Part::kBuffers), (32.0 * 8192 * 4096 + 4.0 * 32 * 8192) / 8);
  EXPECT_EQ(bill.recompute, Recompute::kFull);
}

// 8 h: what stands between the MLP's tiles; of the layer nothing is 4 h wide.
TEST_F(Strategies, HaveNeitherLogitsNorAnMlpInTiles) {
  const StrategyBill whole = named("ZeRO-3, state and inputs on the host", 8);
  const StrategyBill tiled = named("the same, loss and MLP in tiles", 8);
  EXPECT_EQ(tiled.device_bytes(Part::kLogits), 0);
  EXPECT_EQ(whole.device_bytes(Part::kBuffers) - tiled.device_bytes(Part::kBuffers),
            2.0 * 8 * 4096 * 8192 / 8);
  EXPECT_EQ(whole.host_bytes(), tiled.host_bytes());
}

TEST_F(Strategies, SayWhatTheyRecompute) {
  EXPECT_EQ(named("ZeRO-3", 8).recompute, Recompute::kNone);
  EXPECT_EQ(named("ZeRO-3, selective recompute, not fused", 8).recompute, Recompute::kAttention);
  EXPECT_EQ(named("ZeRO-3, full recompute", 8).recompute, Recompute::kFull);
  EXPECT_EQ(named("ZeRO-3, recompute, inputs on the host", 8).recompute, Recompute::kFull);
}

// 12 h^2 a layer and the embedding; norms beside it are little.
TEST(ParameterCounts, OfGptAreThoseThatItsModelsAreNamedAfter) {
  for (const auto& [name, billions] :
       {std::pair{"gpt-7b", 6.65}, std::pair{"gpt-13b", 12.84}, std::pair{"gpt-65b", 64.84}})
    EXPECT_NEAR(parameter_counts(model::preset(name)).all / 1e9, billions, 0.01) << name;
}

}  // namespace
}  // namespace ebbtide::plan
