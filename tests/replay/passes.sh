# Passes of the user's own: they change the code of the codelets, samples remember them, and what is wrong with them is said.
source "$(dirname "$0")/common.sh"
cat >scale.c <<'C'
static double values[4096];
int main(void)
{
    for (int step = 0; step < 3; step++) {
        #pragma omp parallel for
        for (int i = 0; i < 4096; i++)
            values[i] = values[i] / 1.5 + 0.25;
    }
    return values[7] == 0;
}
C
"$CLANG" -O1 -g -fopenmp "-fpass-plugin=$("$PCERE" version --plugin)" scale.c -o scale || exit 1
run "$PCERE" capture --max-classes 1 -o scale.pcere ./scale; says "a program at -O1 is captured" 0
packed() { objdump -d --no-show-raw-insn "$1" | grep -c 'divpd'; }
newest() { ls -td scale.pcere/build/*/codelet | head -n 1; }

run "$PCERE" replay --json --repeat 2 scale.pcere; plain=$(newest)
is "its codelet has no vector code" "$(packed "$plain")" 0
is "and no passes are named" "$(json '.passes, .pass_plugin | tostring' | paste -sd ' ')" 'null null'
run "$PCERE" replay --json --repeat 2 --passes 'function(loop-vectorize)' scale.pcere
says "a pipeline is run" 0
holds "the codelet has vector code then" test "$(packed "$(newest)")" -gt 0
is "the document names it" "$(json .passes)" 'function(loop-vectorize)'
is "so does the sample" "$(tail -n 1 scale.pcere/samples.jsonl | jq -r .settings)" 'passes=function(loop-vectorize)'
run "$PCERE" verify --passes 'function(loop-vectorize)' scale.pcere; says "memory is the same with it" 0 out identical
run "$PCERE" replay --json --repeat 2 --flags -O0 --passes 'default<O3>' scale.pcere
says "a whole pipeline can stand in place of the compiler's" 0
holds "and vectorises" test "$(packed "$(newest)")" -gt 0
run "$PCERE" replay --passes 'no-such-pass' scale.pcere
says "a pass that is not known" 2 err "'no-such-pass' are not understood: .*no-such-pass" err 'hint: .*opt-[0-9]+ -passes'
run "$PCERE" replay --passes 'function(licm' scale.pcere; says "a pipeline that does not parse" 2 err "'function\(licm' are not understood"
run "$PCERE" replay --load-pass-plugin nowhere.so scale.pcere; says "a plugin that is not there" 2 err "cannot read the plugin 'nowhere.so'" err 'hint: '
run "$PCERE" replay --load-pass-plugin scale.c scale.pcere; says "a plugin that is none" 2 err "cannot load the plugin 'scale.c'" err 'hint: build it against'

# A pass that is wrong: it subtracts where the program adds.
cat >wrong.cpp <<'C'
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
using namespace llvm;
struct Wrong : PassInfoMixin<Wrong> {
  PreservedAnalyses run(Function &F, FunctionAnalysisManager &) {
    for (Instruction &I : instructions(F))
      if (I.getOpcode() == Instruction::FAdd) {
        auto *Sub = BinaryOperator::CreateFSub(I.getOperand(0), I.getOperand(1), "", &I);
        I.replaceAllUsesWith(Sub);
      }
    return PreservedAnalyses::none();
  }
};
extern "C" PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "wrong", "1", [](PassBuilder &B) {
            B.registerPipelineParsingCallback([](StringRef Name, FunctionPassManager &M, ArrayRef<PassBuilder::PipelineElement>) {
              if (Name != "wrong")
                return false;
              M.addPass(Wrong());
              return true;
            });
          }};
}
C
if "${CLANG/clang/clang++}" -shared -fPIC -fno-rtti -w "-I/usr/lib/llvm-${CLANG#clang-}/include" wrong.cpp -o wrong.so; then
    run "$PCERE" verify --json --load-pass-plugin "$work/wrong.so" --passes 'function(wrong)' scale.pcere
    says "a pass of one's own that computes something else is found out" 1 err 'differ'
    holds "the document names the plugin" jq -e '.pass_plugin | endswith("wrong.so")' .out
else
    not_ok "a plugin for the test cannot be built"
fi
run "$PCERE" verify scale.pcere; says "without it all is as it was" 0 out identical
finish
