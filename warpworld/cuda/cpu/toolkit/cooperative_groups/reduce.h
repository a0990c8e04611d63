// Reductions over the threads of a tile.
#pragma once

#include "../cooperative_groups.h"

namespace cooperative_groups {

#define WW_OPERATION(name, expression)               \
  template <class Type = void>                        \
  struct name {                                       \
    template <class Number>                           \
    Number operator()(Number a, Number b) const {     \
      return (Number)(expression);                    \
    }                                                 \
  };
WW_OPERATION(plus, a + b)
WW_OPERATION(less, b < a ? b : a)
WW_OPERATION(greater, a < b ? b : a)
WW_OPERATION(bit_and, a & b)
WW_OPERATION(bit_or, a | b)
WW_OPERATION(bit_xor, a ^ b)
#undef WW_OPERATION

template <unsigned Size, class Parent, class Type, class Operation>
static inline Type reduce(const thread_block_tile<Size, Parent>& tile, Type value, Operation operation, WW_CALLER) {
  return ww::reduced(WW_CALLED, tile.mask(), value, operation);
}

}  // namespace cooperative_groups
