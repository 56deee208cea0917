#include "src/cli/profile_flag.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "ebbtide/error.hpp"
#include "src/cli/message.hpp"
#include "src/model/llama.hpp"
#include "src/train/run_facts.hpp"

namespace ebbtide::cli {

namespace {

void tell_of_profile(const tune::SavedSettings& profile, const std::filesystem::path& path,
                     const train::TrainOptions& options) {
  for (const std::string& line : tune::differences(profile, options)) {
    const std::string text =
        fmt::format("--profile {} was made for another run: {}", path.string(), line);
    print_message("warning: ", text.c_str());
  }
  if (!options.planning.chunk_tokens || !sets(profile, "chunk-tokens")) return;
  const model::ModelConfig config = train::load_any_config(options);
  const std::int64_t usual =
      model::auto_chunk_tokens(config, options.run.seq_len, options.run.dtype);
  if (*options.planning.chunk_tokens == usual) return;
  const std::string text = fmt::format(
      "--profile {}: chunks of {} tokens, where auto takes {}: sums are in another order, so that "
      "losses and weights differ in their last bits",
      path.string(), *options.planning.chunk_tokens, usual);
  print_message("note: ", text.c_str());
}

}  // namespace

bool sets(const tune::SavedSettings& profile, std::string_view flag) {
  return std::ranges::find(profile.flags, flag, &tune::FlagValue::name) != profile.flags.end();
}

void add_profile_flag(Flags& flags, std::filesystem::path& target) {
  flags.path(
      {"--profile", "FILE", "settings saved by tune; flags that are given win over them", "none"},
      target);
}

tune::SavedSettings apply_profile(CLI::App& app, const std::filesystem::path& path,
                                  const train::TrainOptions& options) {
  tune::SavedSettings profile = tune::read_profile(path);
  std::erase_if(profile.flags, [&app](const tune::FlagValue& flag) {
    return app.get_option("--" + flag.name)->count() > 0;
  });
  for (const tune::FlagValue& flag : profile.flags) {
    CLI::Option* const option = app.get_option("--" + flag.name);
    try {
      option->add_result(flag.value);
      option->run_callback();
    } catch (const Error& error) {
      throw Error(Errc::kBadUsage, fmt::format("--profile {}: {}", path.string(), error.what()));
    }
  }
  tell_of_profile(profile, path, options);
  return profile;
}

}  // namespace ebbtide::cli
