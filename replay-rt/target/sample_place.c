/* replay-rt/target/sample_place.c - which iterations of a loop a shot runs.
 *
 *   iterations  |--------- stratum 0 ---------|--------- stratum 1 ---------|      one block in each, of one cell
 *   cells       |    |    |####|    |    |    |    |####|    |    |    |    |      of a stratum: as many as there are shots
 *
 * Which cell is which shot's differs from stratum to stratum and from loop to loop, by a random permutation.
 */
#include "replay-rt/target/sample.h"

enum { ITERATIONS_LEAST = 4, BLOCK_ITERATIONS = 4, PART_ITERATIONS_LEAST = 16 };

__extension__ typedef unsigned __int128 uint128;

uint64_t pcere_sample_mix(uint64_t value)
{
    value += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

/* 0 <= result < bound */
static uint64_t random_below(uint64_t key, uint64_t bound)
{
    return (uint64_t)(((uint128)pcere_sample_mix(key) * bound) >> 64);
}

/* The cell of `shot` among `cells`, in a random order that `key` gives. */
static uint32_t cell_of(uint32_t shot, uint64_t key, uint32_t cells)
{
    uint32_t order[SAMPLE_SHOTS_MOST];
    for (uint32_t i = 0; i < cells; i++) {
        uint32_t other = (uint32_t)random_below(key + i, i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    return order[shot % cells];
}

uint32_t pcere_sample_place(const struct sample_shape *shape, uint32_t shot, uint64_t key, uint64_t iterations,
                            struct sample_block ret_blocks[SAMPLE_BLOCKS_MOST])
{
    double wanted = shape->fraction * (double)iterations;
    if (iterations < ITERATIONS_LEAST || wanted >= (double)iterations)
        return 0;
    uint64_t all = wanted < 1 ? 1 : (uint64_t)wanted;
    uint64_t blocks = all / BLOCK_ITERATIONS < shape->blocks ? all / BLOCK_ITERATIONS : shape->blocks;
    blocks = blocks ? blocks : 1;
    for (uint64_t b = 0; b < blocks; b++) {
        uint64_t block_key = pcere_sample_mix(key ^ (b << 32));
        uint128 cell = (uint128)b * shape->shots + cell_of(shot, block_key, shape->shots);
        uint64_t cells = blocks * shape->shots;
        uint64_t low = (uint64_t)(cell * iterations / cells), high = (uint64_t)((cell + 1) * iterations / cells);
        uint64_t count = all / blocks;
        if (high == low)
            high = low + 1;           /* fewer iterations than cells */
        if (count > high - low)
            count = high - low;
        ret_blocks[b] = (struct sample_block){low + random_below(block_key + shot, high - low - count + 1), count};
    }
    return (uint32_t)blocks;
}

/* Where a part begins, as the runtime divides a loop: the first parts have one iteration more than the others. */
static uint64_t part_begin(const struct sample_share *share, uint64_t part)
{
    uint64_t rest = share->total % share->parts;
    return share->total / share->parts * part + (part < rest ? part : rest);
}

/* The part that begins at iteration `at`; share->parts: behind the last one; more: none does. */
static uint64_t part_at(const struct sample_share *share, uint64_t at)
{
    uint64_t part = 0;
    while (part <= share->parts && part_begin(share, part) != at)
        part++;
    return part;
}

uint32_t pcere_sample_place_parts(const struct sample_shape *shape, uint32_t shot, uint64_t key, const struct sample_share *share,
                                  struct sample_block ret_blocks[SAMPLE_BLOCKS_MOST])
{
    if (share->parts < 2 || share->parts > SAMPLE_PARTS_MOST || share->total / share->parts < PART_ITERATIONS_LEAST)
        return pcere_sample_place(shape, shot, key, share->iterations, ret_blocks);
    uint64_t part = part_at(share, share->before), end = part_at(share, share->before + share->iterations);
    if (part > share->parts || end > share->parts)
        return pcere_sample_place(shape, shot, key, share->iterations, ret_blocks);
    uint32_t count = 0;
    for (; part < end; part++) {
        uint64_t begin = part_begin(share, part);
        uint32_t own = pcere_sample_place(shape, shot, pcere_sample_mix(key + part), part_begin(share, part + 1) - begin, ret_blocks + count);
        if (!own)
            return 0;
        for (uint32_t b = 0; b < own; b++)
            ret_blocks[count + b].first += begin - share->before;
        count += own;
    }
    return count;
}

uint64_t pcere_sample_stratum(uint32_t shots, uint32_t shot, uint64_t key, uint64_t number, uint64_t count, uint64_t chunks, uint64_t length)
{
    uint64_t low = (uint64_t)((uint128)number * chunks / count), places = (uint64_t)((uint128)(number + 1) * chunks / count) - low - length + 1;
    uint64_t stratum_key = pcere_sample_mix(key ^ number);
    if (places < shots)
        return low + random_below(stratum_key + shot, places);
    uint64_t cell = cell_of(shot, stratum_key, shots), begin = (uint64_t)((uint128)cell * places / shots), end = (uint64_t)((uint128)(cell + 1) * places / shots);
    uint64_t free = end - begin > length ? end - begin - length + 1 : 1;
    return low + begin + random_below(stratum_key + shot, free);
}
