/* cpp_library_object.cpp - captured objects of the C++ library's own classes, whose virtual tables lie in it: exceptions, streams, buffers. */
#include "check.h"
#include <exception>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

int main()
{
    std::vector<std::unique_ptr<std::exception>> kinds;
    kinds.push_back(std::make_unique<std::runtime_error>("first"));
    kinds.push_back(std::make_unique<std::out_of_range>("second"));
    kinds.push_back(std::make_unique<std::bad_alloc>());
    std::vector<std::stringbuf> buffers(3);
    std::vector<std::size_t> lengths(30);
    std::vector<int> logic(30);
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for
        for (int i = 0; i < 30; i++) {
            lengths[i] = std::string(kinds[i % 3]->what()).size();
            logic[i] = dynamic_cast<std::logic_error *>(kinds[i % 3].get()) != nullptr;
        }
#pragma omp parallel for
        for (int i = 0; i < 3; i++)
            buffers[i].sputn("abc", 3);
    }
    for (int i = 0; i < 30; i++)
        CHECK(lengths[i] == std::string(kinds[i % 3]->what()).size() && logic[i] == (i % 3 == 1));
    for (auto &buffer : buffers)
        CHECK(buffer.str() == "abcabc");
    return 0;
}
