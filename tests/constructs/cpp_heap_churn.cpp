// cpp_heap_churn.cpp - a region frees blocks that were there, makes others of many sizes, grows some, leaves some behind for serial code to free, and has the C and C++ libraries allocate
// for themselves: each block holds what was put there, however often the region runs.
#include "check.h"
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

enum { SLOTS = 96, ROUNDS = 8 };

struct Slot {
    unsigned char *block;
    std::size_t bytes;
    std::unique_ptr<std::vector<int>> values;
};

static std::vector<Slot> slots(SLOTS);
static std::unordered_map<int, std::string> *names[SLOTS];

static std::size_t size_of(int slot, int round) { return static_cast<std::size_t>(8 + (slot * 977 + round * 3001) % (slot % 5 ? 900 : 40000)); }

static void check(const Slot &slot, int number)
{
    for (std::size_t i = 0; i < slot.bytes; i++)
        CHECK(slot.block[i] == static_cast<unsigned char>(number + 3 * i));
    for (std::size_t i = 0; slot.values && i < slot.values->size(); i++)
        CHECK((*slot.values)[i] == number + static_cast<int>(i));
}

static void renew(Slot &slot, int number, int round)
{
    std::size_t bytes = size_of(number, round);
    if (number % 3 == 0) {
        slot.block = static_cast<unsigned char *>(std::realloc(slot.block, bytes));
    } else {
        std::free(slot.block);
        slot.block = static_cast<unsigned char *>(number % 3 == 1 ? std::malloc(bytes) : std::calloc(bytes, 1));
        for (std::size_t i = 0; number % 3 == 2 && i < bytes; i++)
            CHECK(slot.block[i] == 0);
    }
    slot.bytes = bytes;
    for (std::size_t i = 0; i < bytes; i++)
        slot.block[i] = static_cast<unsigned char>(number + 3 * i);
    auto values = std::make_unique<std::vector<int>>();
    for (int i = 0; i < 10 + (number * round) % 700; i++)
        values->push_back(number + i);
    slot.values = std::move(values);
    try {
        std::ostringstream text;
        text << "slot " << number << ' ' << 1.5 * round;
        (*names[number])[round] = text.str();
        if (number % 7 == 0)
            throw text.str();
    } catch (const std::string &thrown) {
        CHECK(thrown == (*names[number])[round]);
    }
    char *copy = strdup((*names[number])[round].c_str());
    CHECK(std::strncmp(copy, "slot ", 5) == 0);
    std::free(copy);
}

static void churn(int round)
{
#pragma omp parallel for schedule(dynamic)
    for (int number = 0; number < SLOTS; number++) {
        names[number] = new std::unordered_map<int, std::string>;
        check(slots[number], number);
        renew(slots[number], number, round);
        check(slots[number], number);
    }
}

int main()
{
    for (int round = 1; round <= ROUNDS; round++) {
        churn(round);
        for (int number = 0; number < SLOTS; number++) {
            CHECK((*names[number])[round].size() > 7);
            delete names[number];
            check(slots[number], number);
        }
    }
    for (Slot &slot : slots)
        std::free(slot.block);
    return 0;
}
