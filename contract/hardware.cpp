#include "ebbtide/hardware.hpp"

#include <algorithm>

#include "ebbtide/error.hpp"

namespace ebbtide {

double HardwareModel::op_seconds(const OpCost& cost, Place place) const {
  if (place == Place::kComm) {
    EBBTIDE_CHECK(collective.bytes_per_s > 0, "a collective on a machine without peers");
    return collective.seconds(cost.sent_bytes);
  }
  const bool host = place == Place::kHost;
  const double flops_per_s = host ? host_flops_per_s : device_flops_per_s;
  const double bytes_per_s = host ? host_memory_bytes_per_s : device_memory_bytes_per_s;
  return op_overhead_s + std::max(cost.flops / flops_per_s, cost.memory_bytes / bytes_per_s);
}

double HardwareModel::device_seconds(const OpCost& cost, OpClass op_class) const {
  const WorkRate& flops = class_rates[static_cast<std::size_t>(op_class)];
  const WorkRate& bytes = class_rates[static_cast<std::size_t>(OpClass::kElementwise)];
  if (flops.per_s == 0 || bytes.per_s == 0) return op_seconds(cost, Place::kDevice);
  // An elementwise op's few flops hide behind its bytes.
  const double compute_s = op_class == OpClass::kElementwise ? 0 : flops.seconds(cost.flops);
  return op_overhead_s + std::max(compute_s, bytes.seconds(cost.memory_bytes));
}

double HardwareModel::op_seconds(const Program& program, OpId op) const {
  const std::optional<OpClass> op_class = program.kernel(program.op(op).kernel).op_class;
  const OpCost& cost = program.cost(op);
  return op_class && program.place(op) == Place::kDevice ? device_seconds(cost, *op_class)
                                                         : op_seconds(cost, program.place(op));
}

const Rate& HardwareModel::rate(Lane lane) const {
  switch (lane) {
    case Lane::kD2h:
      return d2h;
    case Lane::kH2d:
      return h2d;
    case Lane::kNvmeWrite:
      return nvme_write;
    case Lane::kNvmeRead:
      return nvme_read;
    default:
      break;
  }
  contract_violated("a transfer lane", __FILE__, __LINE__, std::string(ebbtide::name(lane)));
}

Rate HardwareModel::rate_alone(Lane lane) const {
  Rate alone = rate(lane);
  if (!shared.known()) return alone;
  alone.bytes_per_s = lane == Lane::kNvmeRead    ? shared.nvme_read_bytes_per_s
                      : lane == Lane::kNvmeWrite ? shared.nvme_write_bytes_per_s
                                                 : shared.link_bytes_per_s;
  return alone;
}

HardwareModel generic_cpu_hardware() {
  HardwareModel model;
  model.name = "generic two-core CPU";
  model.device_flops_per_s = 1e11;
  model.device_memory_bytes_per_s = 1.5e10;
  model.op_overhead_s = 5e-6;
  model.d2h = model.h2d = {6e9, 2e-5};
  model.nvme_write = model.nvme_read = {1e9, 2e-4};
  model.host_flops_per_s = 2e10;
  model.host_memory_bytes_per_s = 1.5e10;
  model.collective = {6e9, 2e-5};  // through shared memory, in and out
  return model;
}

}  // namespace ebbtide
