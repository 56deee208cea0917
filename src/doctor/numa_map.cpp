#include "src/doctor/numa_map.hpp"

namespace ebbtide::doctor {
namespace {

int cpus_in(hwloc_const_bitmap_t node, hwloc_const_bitmap_t usable) {
  if (usable == nullptr) return hwloc_bitmap_weight(node);
  const hwloc_bitmap_t both = hwloc_bitmap_alloc();
  hwloc_bitmap_and(both, node, usable);
  const int count = hwloc_bitmap_weight(both);
  hwloc_bitmap_free(both);
  return count;
}

// Latencies between all nodes, where the system knows them.
std::vector<std::vector<std::uint64_t>> distances_of(hwloc_topology_t topology, std::size_t nodes) {
  hwloc_distances_s* matrix = nullptr;
  unsigned count = 1;
  if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &count, &matrix,
                                  HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) != 0 ||
      count == 0 || matrix == nullptr)
    return {};
  std::vector<std::vector<std::uint64_t>> rows;
  if (matrix->nbobjs == nodes) {
    for (std::size_t from = 0; from < nodes; ++from)
      rows.emplace_back(matrix->values + from * nodes, matrix->values + (from + 1) * nodes);
  }
  hwloc_distances_release(topology, matrix);
  return rows;
}

}  // namespace

NumaMap numa_map(hwloc_topology_t topology, hwloc_const_bitmap_t usable) {
  NumaMap map;
  const int count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
  for (int at = 0; at < count; ++at) {
    const hwloc_obj_t node =
        hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, static_cast<unsigned>(at));
    map.nodes.push_back({.index = node->os_index,
                         .memory_bytes = node->attr->numanode.local_memory,
                         .usable_cpus = cpus_in(node->cpuset, usable)});
  }
  map.distances = distances_of(topology, map.nodes.size());
  return map;
}

NumaMap this_numa_map() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return {};
  NumaMap map;
  if (hwloc_topology_load(topology) == 0) {
    const hwloc_bitmap_t usable = hwloc_bitmap_alloc();
    const bool known = hwloc_get_cpubind(topology, usable, HWLOC_CPUBIND_PROCESS) == 0;
    map = numa_map(topology, known ? usable : nullptr);
    hwloc_bitmap_free(usable);
  }
  hwloc_topology_destroy(topology);
  return map;
}

}  // namespace ebbtide::doctor
