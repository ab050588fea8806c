// Operands from standard input through one arithmetic unit, results to standard output.
//
// A request is a count, then as many operands of three 32-bit words (a, b, select); the answer is
// as many results of one word. All are in the machine's byte order. Ends with its input.
//
// `valid` is high in every clock, so a pipelined unit works at its initiation interval of one; a
// unit that takes longer says with `ready` when it takes an operand. `done` says that `o` is the
// result of the oldest operand that has none yet.

#include <cstdint>
#include <cstdio>
#include <vector>

#include "Vtop.h"

struct Operand {
    uint32_t a, b, select;
};

// No unit is idle for so many clocks: one that is does not work.
constexpr unsigned kPatience = 1000;

static bool answer(Vtop& unit, const std::vector<Operand>& operands,
                   std::vector<uint32_t>& results) {
    size_t taken = 0;
    size_t done = 0;
    for (unsigned idle = 0; done < operands.size(); ++idle) {
        if (idle == kPatience) return false;
        unit.valid = taken < operands.size();
        if (unit.valid) {
            unit.a = operands[taken].a;
            unit.b = operands[taken].b;
            unit.select = operands[taken].select;
        }
        unit.clk = 0;
        unit.eval();
        if (unit.valid && unit.ready) ++taken;
        if (unit.done) {
            if (done == taken) return false;  // a result of nothing
            results[done++] = unit.o;
            idle = 0;
        }
        unit.clk = 1;
        unit.eval();
    }
    return true;
}

static void reset(Vtop& unit) {
    unit.valid = 0;
    unit.rst = 1;
    for (int edge = 0; edge < 4; ++edge) {
        unit.clk = edge & 1;
        unit.eval();
    }
    unit.rst = 0;
}

int main(int argc, char** argv) {
    Verilated::commandArgs(argc, argv);
    Vtop unit;
    reset(unit);
    std::vector<Operand> operands;
    std::vector<uint32_t> results;
    uint32_t count;
    while (std::fread(&count, sizeof count, 1, stdin) == 1) {
        operands.resize(count);
        results.resize(count);
        if (std::fread(operands.data(), sizeof(Operand), count, stdin) != count) return 1;
        if (!answer(unit, operands, results)) {
            std::fprintf(stderr, "the unit gives no result, or one too many\n");
            return 1;
        }
        if (std::fwrite(results.data(), sizeof(uint32_t), count, stdout) != count) return 1;
        std::fflush(stdout);
    }
    return 0;
}
