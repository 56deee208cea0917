// NUMA: how far memory, drives and GPUs are from the CPUs that compute.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "src/doctor/checks.hpp"
#include "src/doctor/pci.hpp"
#include "src/report/units.hpp"

namespace ebbtide::doctor {
namespace {

std::string nodes_text(const NumaMap& map) {
  std::string text;
  for (const NumaNode& node : map.nodes)
    text += fmt::format("{}node {}: {}, {} CPUs of this process", text.empty() ? "" : "; ",
                        node.index, report::bytes_text(node.memory_bytes), node.usable_cpus);
  return text;
}

// The node where the process may run, if it is one alone.
std::optional<std::size_t> own_node(const NumaMap& map) {
  std::optional<std::size_t> own;
  for (std::size_t at = 0; at < map.nodes.size(); ++at) {
    if (map.nodes[at].usable_cpus == 0) continue;
    if (own) return std::nullopt;
    own = at;
  }
  return own;
}

// The node with most of its CPUs; a device's own where there is one.
unsigned best_node(const NumaMap& map, const std::vector<PciDevice>& devices) {
  for (const PciDevice& device : devices)
    if (device.kind == PciKind::kGpu && device.numa_node >= 0)
      return static_cast<unsigned>(device.numa_node);
  for (const PciDevice& device : devices)
    if (device.numa_node >= 0) return static_cast<unsigned>(device.numa_node);
  return std::ranges::max(map.nodes, {}, &NumaNode::usable_cpus).index;
}

Finding memory_finding(const NumaMap& map, const std::vector<PciDevice>& devices) {
  Finding finding{"numa", "NUMA", Verdict::kGood, nodes_text(map),
                  "the process runs on one node and arenas are bound there"};
  if (own_node(map)) return finding;
  const unsigned best = best_node(map, devices);
  finding.verdict = Verdict::kCouldBeBetter;
  finding.meaning =
      "threads of all nodes compute, arenas lie on one: the others read them across the "
      "interconnect";
  finding.remedy = fmt::format(
      "sudo apt install numactl && numactl --cpunodebind={} --membind={} ebbtide train ...", best,
      best);
  return finding;
}

std::string distance_text(const NumaMap& map, std::size_t from, unsigned to) {
  for (std::size_t at = 0; at < map.nodes.size(); ++at)
    if (map.nodes[at].index == to && from < map.distances.size())
      return fmt::format(" (distance {}, {} within a node)", map.distances[from][at],
                         map.distances[from][from]);
  return {};
}

// Nothing for a device that is near, or of which it is not known.
std::optional<Finding> device_finding(const NumaMap& map, const PciDevice& device) {
  const std::optional<std::size_t> own = own_node(map);
  if (!own || device.numa_node < 0) return std::nullopt;
  const auto node = static_cast<unsigned>(device.numa_node);
  if (map.nodes[*own].index == node) return std::nullopt;
  return Finding{
      "numa_device",
      fmt::format("NUMA distance of {}", device.name),
      Verdict::kCouldBeBetter,
      fmt::format("it is at node {}, the process at node {}{}", node, map.nodes[*own].index,
                  distance_text(map, *own, node)),
      "every transfer crosses the interconnect of the nodes",
      fmt::format("numactl --cpunodebind={} --membind={} ebbtide train ...", node, node)};
}

}  // namespace

Findings check_numa(const System& system) {
  const NumaMap map = system.numa();
  if (map.nodes.empty())
    return {{"numa", "NUMA", Verdict::kNotHere, "hwloc tells of no node",
             "memory is placed by the system"}};
  if (map.nodes.size() == 1)
    return {{"numa", "NUMA", Verdict::kGood,
             fmt::format("one node of {}", report::bytes_text(map.nodes[0].memory_bytes)),
             "all memory, drives and GPUs are equally near"}};
  const std::vector<PciDevice> devices = pci_devices(system.root());
  Findings findings{memory_finding(map, devices)};
  for (const PciDevice& device : devices)
    if (const auto finding = device_finding(map, device)) findings.push_back(*finding);
  return findings;
}

}  // namespace ebbtide::doctor
