// Exact values of connect four, on boards of up to 56 bits.
//
// A column has rows + 1 bits, the lowest row first; its uppermost bit stays empty, so that lines do not continue in the
// next column. `own` are the stones of the player to move, `mask` those of both. A score is the number of stones, the
// winning one included, that the winner has left at the end: (cells + 1 - stones) / 2 for a player who wins with its next
// stone, less by 1 for each stone that it needs before; negative where the other one wins, 0 for a draw.
//
// Search: negamax with alpha-beta pruning over moves that do not lose at once, those with most threats first and of
// equal ones those in the centre; a table of bounds, which newer positions overwrite.

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <vector>

namespace {

constexpr int most_columns = 28;  // of boards of one row
constexpr int table_bits = 22;
constexpr uint64_t no_position = ~uint64_t(0);  // of an entry that is empty: no key has as many bits

struct Geometry {
  int rows, columns, cells;
  uint64_t bottom, board;
  int order[most_columns];  // columns, from the centre outwards

  Geometry(int rows, int columns) : rows(rows), columns(columns), cells(rows * columns), bottom(0), board(0) {
    for (int column = 0; column < columns; ++column) {
      bottom |= uint64_t(1) << column * (rows + 1);
      order[column] = columns / 2 + (column % 2 ? -(column + 1) / 2 : column / 2);
    }
    board = bottom * ((uint64_t(1) << rows) - 1);
  }

  uint64_t column(int number) const { return ((uint64_t(1) << rows) - 1) << number * (rows + 1); }

  uint64_t landings(uint64_t mask) const { return (mask + bottom) & board; }

  // Empty cells that complete a line of four of these stones.
  uint64_t completing(uint64_t stones, uint64_t mask) const {
    uint64_t found = stones << 1 & stones << 2 & stones << 3;  // upwards
    for (int step : {rows, rows + 1, rows + 2}) {              // falling, level and rising
      const uint64_t pair = stones << step & stones << 2 * step;
      found |= pair & stones << 3 * step;
      found |= pair & stones >> step;
      const uint64_t other = stones >> step & stones >> 2 * step;
      found |= other & stones << step;
      found |= other & stones >> 3 * step;
    }
    return found & (board ^ mask);
  }
};

class Solver {
 public:
  Solver(int rows, int columns) : on_(rows, columns), table_(size_t(1) << table_bits, no_position) {}

  // The score, or what is nearest to it between -most and most.
  int score(uint64_t own, uint64_t mask, int most) {
    const int stones = __builtin_popcountll(mask);
    int low = -(on_.cells - stones) / 2, high = (on_.cells + 1 - stones) / 2;
    if (low < -most) low = -most;
    if (high > most) high = most;
    while (low < high) {  // windows of width 1, the ones beside 0 first
      int middle = low + (high - low) / 2;
      if (middle <= 0 && low / 2 < middle) middle = low / 2;
      if (middle >= 0 && high / 2 > middle) middle = high / 2;
      const int found = bound(own, mask, middle, middle + 1);
      if (found <= middle) high = std::max(found, low);
      else low = std::min(found, high);
    }
    return low;
  }

 private:
  // The score between low and high; at or beyond them, a bound of it.
  int bound(uint64_t own, uint64_t mask, int low, int high) {
    const int stones = __builtin_popcountll(mask);
    if (stones == on_.cells) return 0;
    if (on_.completing(own, mask) & on_.landings(mask)) return (on_.cells + 1 - stones) / 2;
    return search(own, mask, stones, low, high);
  }

  // The player to move has no stone that wins at once, and at least one cell is empty.
  int search(uint64_t own, uint64_t mask, int stones, int low, int high) {
    // moves after which the other player does not win at once
    const uint64_t other = own ^ mask, threats = on_.completing(other, mask), landings = on_.landings(mask);
    const uint64_t forced = landings & threats;
    if (forced & (forced - 1)) return -(on_.cells - stones) / 2;
    const uint64_t moves = (forced ? forced : landings) & ~(threats >> 1);
    if (!moves) return -(on_.cells - stones) / 2;
    if (stones >= on_.cells - 2) return 0;  // either player's last stone, and none wins

    // bounds that the rules or an earlier search give
    const int least = -(on_.cells - 2 - stones) / 2, most = (on_.cells - 1 - stones) / 2;
    if (low < least && (low = least) >= high) return low;
    if (high > most && (high = most) <= low) return high;
    const uint64_t key = own + mask;
    uint64_t& entry = table_[slot(key)];
    if (entry >> 8 == key) {
      const int kept = int(entry & 255) - 128, bound = kept >> 1;  // odd numbers are lower bounds
      if (kept & 1) {
        if (low < bound && (low = bound) >= high) return low;
      } else if (high > bound && (high = bound) <= low) {
        return high;
      }
    }

    // all moves, the best ones first
    uint64_t sorted[most_columns];
    int scores[most_columns], count = 0;
    for (int k = 0; k < on_.columns; ++k) {
      const uint64_t move = moves & on_.column(on_.order[k]);
      if (!move) continue;
      const int value = __builtin_popcountll(on_.completing(own | move, mask | move));
      int place = count++;
      for (; place && scores[place - 1] < value; --place) {
        scores[place] = scores[place - 1];
        sorted[place] = sorted[place - 1];
      }
      scores[place] = value;
      sorted[place] = move;
    }
    for (int k = 0; k < count; ++k) {
      const int found = -search(other, mask | sorted[k], stones + 1, -high, -low);
      if (found >= high) {
        keep(key, 2 * found + 1);
        return found;
      }
      if (found > low) low = found;
    }
    keep(key, 2 * low);
    return low;
  }

  static size_t slot(uint64_t key) { return key * 0x9E3779B97F4A7C15u >> (64 - table_bits); }

  void keep(uint64_t key, int bound) { table_[slot(key)] = key << 8 | uint64_t(bound + 128); }

  const Geometry on_;
  std::vector<uint64_t> table_;
};

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void* four_open(int rows, int columns) { return new Solver(rows, columns); }

void four_close(void* solver) { delete static_cast<Solver*>(solver); }

// scores (count,): of positions that no player has won; what is nearest to them between -most and most.
void four_scores(void* solver, const uint64_t* own, const uint64_t* mask, int64_t count, int most, int64_t* scores) {
  for (int64_t i = 0; i < count; ++i) scores[i] = static_cast<Solver*>(solver)->score(own[i], mask[i], most);
}

}  // extern "C"
#pragma GCC visibility pop
