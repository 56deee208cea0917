#include "kernels/cpu/native_product.hpp"

#include <dnnl.hpp>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "ebbtide/error.hpp"

namespace ebbtide::kernels::cpu {
namespace {

using dnnl::memory;

struct Key {
  DType dtype;
  std::int64_t m, n, k, lda, ldb, ldc;
  Layout a_layout, b_layout;
  Accumulate accumulate;
  auto operator<=>(const Key&) const = default;
};

Key key_of(const NativeProduct& p) {
  return {p.dtype, p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.a_layout, p.b_layout, p.accumulate};
}

memory::desc matrix(std::int64_t rows, std::int64_t cols, std::int64_t leading, Layout layout,
                    memory::data_type type) {
  const bool stored = layout == Layout::kAsStored;
  return {{rows, cols}, type, {stored ? leading : 1, stored ? 1 : leading}};
}

dnnl::primitive_attr attributes(Accumulate accumulate) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (accumulate == Accumulate::kAdd) {
    dnnl::post_ops sum;
    sum.append_sum(1.0F);
    attr.set_post_ops(sum);
  }
  return attr;
}

// Whether oneDNN uses all instructions of the set `isa`.
bool runs(dnnl_cpu_isa_t isa) {
  const auto needed = static_cast<unsigned>(isa);
  return (static_cast<unsigned>(dnnl_get_effective_cpu_isa()) & needed) == needed;
}

struct Entry {
  memory::desc a;
  memory::desc b;
  memory::desc c;
  memory::desc scratchpad;
  dnnl::matmul primitive;
};

Entry make_entry(const Key& key, const dnnl::engine& engine) {
  const auto type = key.dtype == DType::kF32 ? memory::data_type::f32 : memory::data_type::bf16;
  const memory::desc a = matrix(key.m, key.k, key.lda, key.a_layout, type);
  const memory::desc b = matrix(key.k, key.n, key.ldb, key.b_layout, type);
  const memory::desc c = matrix(key.m, key.n, key.ldc, Layout::kAsStored, memory::data_type::f32);
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::matmul::primitive_desc desc(engine, a, b, c, attributes(key.accumulate));
#else
  const dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(a, b, c), attributes(key.accumulate),
                                          engine);
#endif
  return {a, b, c, desc.scratchpad_desc(), dnnl::matmul(desc)};
}

}  // namespace

struct NativeProducts::Cache {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  std::mutex mutex;  // of `entries`, whose elements never move or change
  std::map<Key, Entry> entries = {};

  const Entry& entry(const Key& key) {
    const std::lock_guard lock(mutex);
    const auto found = entries.find(key);
    if (found != entries.end()) return found->second;
    return entries.emplace(key, make_entry(key, engine)).first->second;
  }

  void run(const NativeProduct& p, std::span<std::byte> scratch) {
    const Entry& e = entry(key_of(p));
    EBBTIDE_CHECK(e.scratchpad.get_size() <= scratch.size(),
                  "scratchpad of " + std::to_string(e.scratchpad.get_size()) + ", there are " +
                      std::to_string(scratch.size()));
    dnnl::stream stream(engine);
    e.primitive.execute(stream,
                        {{DNNL_ARG_SRC, memory(e.a, engine, const_cast<void*>(p.a))},
                         {DNNL_ARG_WEIGHTS, memory(e.b, engine, const_cast<void*>(p.b))},
                         {DNNL_ARG_DST, memory(e.c, engine, p.c)},
                         {DNNL_ARG_SCRATCHPAD, memory(e.scratchpad, engine, scratch.data())}});
    stream.wait();
  }
};

NativeProducts::NativeProducts() : cache_(std::make_unique<Cache>()) {}
NativeProducts::~NativeProducts() = default;

void NativeProducts::multiply(const NativeProduct& product, std::span<std::byte> scratch) {
  try {
    cache_->run(product, scratch);
  } catch (const dnnl::error& failure) {
    contract_violated("oneDNN takes the product", __FILE__, __LINE__, failure.what());
  }
}

bool NativeProducts::has(DType dtype) {
  return dtype == DType::kF32 || runs(dnnl_cpu_isa_avx512_core_bf16);
}

bool NativeProducts::is_fast(DType dtype) {
  if (dtype == DType::kF32) return runs(dnnl_cpu_isa_avx512_core);
  return runs(dnnl_cpu_isa_avx512_core_amx) ||
         (has(dtype) && static_cast<bool>(__builtin_cpu_is("amd")));
}

}  // namespace ebbtide::kernels::cpu
