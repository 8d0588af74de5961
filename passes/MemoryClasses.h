//===- passes/MemoryClasses.h - values and memory in classes that may be one ----------------------------------------------------===//
//
// Unification (Steensgaard, Points-to analysis in almost linear time, POPL 1996), with a class of its own for each constant distance from a pointer. Functions are
// no classes: one that is in two of them does not make these one.
//
//===------------------------------------------------------------------------------------------------------------------------===//
#ifndef PCERE_PASSES_MEMORYCLASSES_H
#define PCERE_PASSES_MEMORYCLASSES_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Function.h"

#include <map>
#include <vector>

namespace pcere {

/// Classes by number. A number stays good when its class becomes part of another one: find() tells which.
class MemoryClasses {
protected:
  struct Node {
    unsigned Parent;
    int Content = -1;                   ///< what a pointer of this class leads to
    std::map<int64_t, unsigned> Fields; ///< pointers at a constant distance
  };
  using FunctionSet = llvm::SmallSetVector<const llvm::Function *, 2>;
  std::vector<Node> Nodes;
  llvm::DenseMap<unsigned, FunctionSet> Held; ///< by class: whose addresses its values may be

  unsigned fresh() {
    Nodes.push_back({static_cast<unsigned>(Nodes.size()), -1, {}});
    return static_cast<unsigned>(Nodes.size() - 1);
  }

  unsigned find(unsigned N) {
    while (Nodes[N].Parent != N)
      N = Nodes[N].Parent = Nodes[Nodes[N].Parent].Parent;
    return N;
  }

  /// What a pointer of this class leads to.
  unsigned content(unsigned N) {
    N = find(N);
    if (Nodes[N].Content < 0) {
      unsigned New = fresh();
      Nodes[N].Content = static_cast<int>(New);
    }
    return find(static_cast<unsigned>(Nodes[N].Content));
  }

  /// The pointer that far behind it.
  unsigned field(unsigned N, int64_t Offset) {
    N = find(N);
    if (Offset == 0)
      return N;
    auto Slot = Nodes[N].Fields.find(Offset);
    if (Slot != Nodes[N].Fields.end())
      return find(Slot->second);
    unsigned New = fresh();
    Nodes[N].Fields[Offset] = New;
    return New;
  }

  void hold(unsigned N, const llvm::Function &F) { Held[find(N)].insert(&F); }

  const FunctionSet *held(unsigned N) {
    auto Slot = Held.find(find(N));
    return Slot == Held.end() ? nullptr : &Slot->second;
  }

  void unify(unsigned A, unsigned B) {
    llvm::SmallVector<std::pair<unsigned, unsigned>, 8> Work{{A, B}};
    while (!Work.empty()) {
      auto [X, Y] = Work.pop_back_val();
      X = find(X);
      Y = find(Y);
      if (X == Y)
        continue;
      Nodes[Y].Parent = X;
      if (auto Slot = Held.find(Y); Slot != Held.end()) {
        FunctionSet Moved = std::move(Slot->second);
        Held.erase(Slot);
        Held[X].insert(Moved.begin(), Moved.end());
      }
      if (Nodes[Y].Content >= 0) {
        if (Nodes[X].Content >= 0)
          Work.push_back({static_cast<unsigned>(Nodes[X].Content), static_cast<unsigned>(Nodes[Y].Content)});
        else
          Nodes[X].Content = Nodes[Y].Content;
      }
      for (auto [Offset, Other] : Nodes[Y].Fields) {
        auto [Slot, New] = Nodes[X].Fields.try_emplace(Offset, Other);
        if (!New)
          Work.push_back({Slot->second, Other});
      }
      Nodes[Y].Fields.clear();
    }
  }
};

} // namespace pcere

#endif
