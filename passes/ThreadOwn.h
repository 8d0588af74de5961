//===- passes/ThreadOwn.h - what functions do with variables of which each thread has a copy --------------------------------------===//
#ifndef PCERE_PASSES_THREADOWN_H
#define PCERE_PASSES_THREADOWN_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

#include <string>

namespace pcere {

/// Bytes of a variable of which each thread has a copy.
struct Place {
  const llvm::GlobalVariable *V = nullptr;
  uint64_t Start = 0, Bytes = 0;
  bool meets(const Place &Other) const { return V == Other.V && Start < Other.Start + Other.Bytes && Other.Start < Start + Bytes; }
  bool covers(const Place &Other) const { return V == Other.V && Start <= Other.Start && Other.Start + Other.Bytes <= Start + Bytes; }
};

/// What a function, or those of a region, do with such variables.
struct OwnUses {
  llvm::SmallVector<Place, 8> Checked, Led; ///< pointers that are compared; that lead somewhere
  llvm::SmallVector<std::pair<Place, const llvm::Instruction *>, 8> Filled; ///< what is set, and where
  llvm::SmallVector<std::pair<Place, const llvm::LoadInst *>, 8> Numbers;   ///< that are read

  void append(const OwnUses &Other) {
    Checked.append(Other.Checked.begin(), Other.Checked.end());
    Led.append(Other.Led.begin(), Other.Led.end());
    Filled.append(Other.Filled.begin(), Other.Filled.end());
    Numbers.append(Other.Numbers.begin(), Other.Numbers.end());
  }

  const llvm::Instruction *filler(const Place &At) const {
    for (auto [To, I] : Filled)
      if (To.meets(At))
        return I;
    return nullptr;
  }
};

class OwnWalk {
public:
  enum Where { Itself, OrCopies };

  explicit OwnWalk(const llvm::Module &M);
  void look(const llvm::Instruction &I, OwnUses &Uses) const;

  /// V is null: no such variable's, or it is not known which bytes.
  Place place(const llvm::Value &Pointer, uint64_t Bytes, Where Looked, unsigned Depth = 0) const;

private:
  const llvm::GlobalVariable *variable(const llvm::Value &Base) const;
  void lookAtLoad(const llvm::LoadInst &Load, OwnUses &Uses) const;
  void lookAtCall(const llvm::CallBase &Call, OwnUses &Uses) const;

  const llvm::DataLayout &Layout;
  llvm::StringMap<const llvm::GlobalVariable *> Wrapped; ///< by names as people read them
};

/// "memory that each thread made for itself in another region (work, at a.c:12)"
std::string ownReason(llvm::StringRef What, const Place &At, const llvm::Instruction &By);

} // namespace pcere

#endif
