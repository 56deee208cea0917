#include "tiering/execute/route.hpp"

#include <string>

#include "ebbtide/error.hpp"

namespace ebbtide::execute {

Route route(Lane lane) {
  switch (lane) {
    case Lane::kCompute:
      return {Tier::kDevice, Tier::kDevice};
    case Lane::kD2h:
      return {Tier::kDevice, Tier::kHost};
    case Lane::kH2d:
      return {Tier::kHost, Tier::kDevice};
    case Lane::kNvmeWrite:
      return {Tier::kHost, Tier::kNvme};
    case Lane::kNvmeRead:
      return {Tier::kNvme, Tier::kHost};
    case Lane::kHostCompute:
    case Lane::kComm:
      break;
  }
  contract_violated("a lane that moves bytes", __FILE__, __LINE__, std::string(name(lane)));
}

}  // namespace ebbtide::execute
