// The operations by which the generator of tile programs changes the shape of a tile, and the
// places of its elements.
#include <algorithm>

#include "tests/property/tile_generator.h"

namespace tilewright {

using ir::Op;
using ir::Value;

void TileGenerator::change_shape() {
  Entry x = any();
  Shape from = type(x).shape;
  Value value = x.value;
  std::int64_t count = element_count(from);
  switch (below(5)) {
    case 0: {
      std::vector<int> dims;
      for (int i = 0; i < from.rank(); ++i) dims.push_back(i);
      std::ranges::shuffle(dims, random_);
      value = append(Op::permute_, {value}, ir::Permutation{dims});
      break;
    }
    case 1: {
      std::int64_t by = pick<std::int64_t>({1, 2, 3, 4, 5});
      Shape to = count % by == 0 ? Shape{count / by, by} : Shape{count};
      value = append(Op::reshape_, {value}, ir::Extent{to});
      break;
    }
    case 2: {
      // Some places are chosen twice, and some indices lie outside.
      if (from.empty()) return;
      int axis = static_cast<int>(below(from.rank()));
      Shape to = from;
      to[axis] = pick<std::int64_t>({1, 3, 8, from[axis], from[axis]});
      if (element_count(to) > most) return;
      Value index = append(Op::rem_, {index_tile(program_, to), splat(builder_.index(7), to)});
      index = append(Op::sub_, {index, splat(builder_.index(below(4)), to)});
      if (below(2) == 0) index = append(Op::cast_, {index}, DType::i32);
      value = append(Op::gather_, {value, index}, ir::Axis{axis});
      break;
    }
    default: {
      int axis = static_cast<int>(below(from.rank() + 1));
      std::int64_t times = pick<std::int64_t>({1, 2, 3, 5});
      if (from.rank() > 2 || count * times > most) return;
      value = append(Op::expand_dims_, {value}, ir::Axis{axis});
      Shape to = type(value).shape;
      to[axis] = times;
      value = append(Op::broadcast_, {value}, ir::Extent{to});
    }
  }
  keep({value, x.exact, x.range});
}

}  // namespace tilewright
