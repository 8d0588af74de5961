; The entry that only OpenMP's IR builder makes (flang): the condition and one pointer to all arguments.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"
source_filename = "fork_if.f90"

%ident_t = type { i32, i32, i32, i32, ptr }
@text = private unnamed_addr constant [23 x i8] c";unknown;unknown;0;0;;\00"
@ident = private unnamed_addr constant %ident_t { i32 0, i32 2, i32 0, i32 22, ptr @text }

define i32 @main() {
  %value = alloca i32
  store i32 5, ptr %value
  call void @__kmpc_fork_call_if(ptr @ident, i32 1, ptr @body, i32 0, ptr %value)
  %after = load i32, ptr %value
  %wrong = icmp ne i32 %after, 6
  %status = zext i1 %wrong to i32
  ret i32 %status
}

define internal void @body(ptr %thread, ptr %bound, ptr %value) {
  %old = load i32, ptr %value
  %new = add i32 %old, 1
  store i32 %new, ptr %value
  ret void
}

declare void @__kmpc_fork_call_if(ptr, i32, ptr, i32, ptr)
