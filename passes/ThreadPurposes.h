//===- passes/ThreadPurposes.h - what a function does with a number: ends a loop, or says where in memory it works -------------------===//
#ifndef PCERE_PASSES_THREADPURPOSES_H
#define PCERE_PASSES_THREADPURPOSES_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

#include <memory>

namespace pcere {

struct Shape {
  llvm::DominatorTree Tree;
  llvm::LoopInfo Loops;
  explicit Shape(llvm::Function &F) : Tree(F), Loops(Tree) {}
};

class Shapes {
public:
  Shape &of(const llvm::Function &F) {
    std::unique_ptr<Shape> &Known = All[&F];
    if (!Known)
      Known = std::make_unique<Shape>(const_cast<llvm::Function &>(F));
    return *Known;
  }

private:
  llvm::DenseMap<const llvm::Function *, std::unique_ptr<Shape>> All;
};

/// Of a loop that was unrolled or vectorised: all bits but a few at the low end.
bool leavesWholeRounds(const llvm::APInt &Mask);

/// What numbers are for.
class Purposes {
public:
  enum Purpose { Nothing, Place, Bound };
  explicit Purposes(Shapes &Of) : Of(Of) {}
  Purpose of(const llvm::Value &Number);
  bool endsLoop(const llvm::Value &Condition, unsigned Depth = 0);

private:
  Purpose use(const llvm::Use &U);
  void follow(const llvm::Use &U);
  void followCall(const llvm::CallBase &Call, const llvm::Use &U);

  Shapes &Of;
  llvm::SetVector<const llvm::Value *> Same; ///< the number, and what plain arithmetic makes of it
};

} // namespace pcere

#endif
