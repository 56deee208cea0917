#include "ebbtide/engine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ebbtide/error.hpp"
#include "tiering/execute/engine_state.hpp"

namespace ebbtide {

Engine::Engine(std::unique_ptr<Device> device, const EngineOptions& options)
    : state_(std::make_unique<State>(std::move(device), options)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

const Timeline& Engine::run(const Program& program, const Plan& plan) {
  return state_->run(program, plan);
}
void Engine::write_home(const Home& home, std::span<const std::byte> bytes) {
  state_->write_home(home, bytes);
}
void Engine::read_home(const Home& home, std::span<std::byte> bytes) {
  state_->read_home(home, bytes);
}
void Engine::cancel() noexcept {
  state_->cancel();
}
Device& Engine::device() {
  return state_->device();
}
const EngineCounters& Engine::counters() const {
  return state_->counters();
}
const std::vector<std::string>& Engine::warnings() const {
  return state_->warnings();
}

}  // namespace ebbtide
