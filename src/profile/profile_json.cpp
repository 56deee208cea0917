#include "src/profile/profile_json.hpp"

#include <string>

#include "src/profile/profile_text.hpp"

namespace ebbtide::profile {
namespace {

using Json = nlohmann::ordered_json;
using report::Exposure;

Json lanes(const Exposure& exposure) {
  Json object = Json::object();
  for (std::size_t i = 0; i < kLaneCount; ++i) {
    const Lane lane = static_cast<Lane>(i);
    const report::LaneTime& time = exposure.of(lane);
    object[std::string(name(lane))] = {{"busy_seconds", time.busy_s},
                                       {"hidden_seconds", time.hidden_s()},
                                       {"exposed_seconds", time.exposed_s},
                                       {"idle_seconds", exposure.idle_s(lane)},
                                       {"bytes", time.bytes},
                                       {"tasks", time.tasks}};
  }
  return object;
}

Json causes(const Exposure& exposure) {
  Json object = Json::object();
  for (std::size_t i = 0; i < report::kCauseCount; ++i)
    object[std::string(name(static_cast<report::Cause>(i)))] = exposure.causes[i];
  return object;
}

Json layers(const Exposure& exposure) {
  Json list = Json::array();
  for (const auto& [layer, time] : exposure.layers)
    list.push_back(
        {{"layer", layer}, {"compute_seconds", time.compute_s}, {"still_seconds", time.still_s}});
  return list;
}

Json step(const Exposure& exposure) {
  return {{"step_seconds", exposure.step_s},
          {"lanes", lanes(exposure)},
          {"still_seconds", causes(exposure)},
          {"layers", layers(exposure)}};
}

}  // namespace

Json to_json(const Profile& profile) {
  Json object{{"verdict", verdict_text(profile)},
              {"steps", profile.steps},
              {"tokens", profile.tokens},
              {"tokens_per_second", static_cast<double>(profile.tokens) / profile.measured.step_s}};
  object.update(step(profile.measured));
  object["predicted"] = step(profile.predicted);
  object["advice"] = Json::array();
  for (const Advice& advice : profile.advice.value_or(std::vector<Advice>()))
    object["advice"].push_back({{"flags", advice.flags},
                                {"why", advice.why},
                                {"cause", std::string(name(advice.cause))},
                                {"step_seconds", advice.step_s}});
  return object;
}

}  // namespace ebbtide::profile
